/* SPDX-License-Identifier: MIT */
/*
 * The kind "code": samples that a user's own program makes, and that producers bring
 * (loop/engine/lend.h). A description names the code by its identity, never by a path to it, and
 * says how many samples there are. Reads nothing: dataset_supply() takes what a producer made.
 *
 * A record is what a producer makes of one sample: the label (int64, in the machine's byte order),
 * then the bytes of a file of any image format; or, if the description says `arrays`, these, one
 * behind the other, each as an array of its dtype and shape has them in C's order. A ragged one has
 * its shape in front, of numbers of 64 bits.
 */
#ifndef STOKER_DATASET_CODE_H
#define STOKER_DATASET_CODE_H

#include "dataset/kind.h"
#include "proto/ring_layout.h"

#define CODE_PATH "code:" /* begins a description's path; the rest is a name for people */
#define CODE_IDENTITY_MAX 64

extern const struct dataset_kind code_kind;

/* The arrays of a record, and how many; NULL: it has bytes of pictures. They live as long as the
 * state. */
#define CODE_ARRAYS_MAX (SEGMENT_FIELDS_MAX - 1) /* beside the index */
/* Size of a number of this type; 0: there is no such type. */
size_t code_dtype_bytes(const char *name);
/* "x:float32:3x224x224 y:int64:", as `whose` says them. 0, DATASET_E_OPEN or -ENOMEM. */
int code_arrays_parse(struct code_array out[CODE_ARRAYS_MAX], uint32_t *count_out,
		      const char *given, const char *whose, struct fault *fault);
const struct code_array *code_arrays(const void *state, uint32_t *count_out);

/* Is a sample the same whenever it is made? */
bool code_is_pure(const void *state);

/* Keep the label of a sample, and the size of its bytes. Any thread. */
void code_set(void *state, uint64_t sample, int64_t label, uint64_t size);
/* Stand-in for the version of a file: the code's identity, the index and the size. */
struct storage_version code_version_of(const void *state, uint64_t sample, uint64_t size);

#endif
