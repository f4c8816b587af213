/* SPDX-License-Identifier: MIT */
/*
 * Producers: they make the samples of a dataset of kind "code", or what a Map gives for each
 * picture, by a function. stoker.h includes this.
 */
#ifndef STOKER_PRODUCE_H
#define STOKER_PRODUCE_H

#include <stddef.h>
#include <stdint.h>

#include "stoker_api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct stoker; /* of stoker.h */

/* Asked of a producer. What it draws at random must follow from seed, epoch and position alone. */
struct stoker_sample {
	uint64_t index, epoch, position, seed; /* in the dataset; of the stream */
	/* Of a Map: what the transforms before it have made, rows of RGB bytes without gaps, until
	 * the function returns. Else NULL. */
	const uint8_t *picture;
	uint32_t height, width; /* of the picture */
};

#define STOKER_WORDS 1024
#define STOKER_NO_MORE INT64_MIN

/* Write the record of a sample to `room` of so many bytes: its label, 8 bytes (int64), then the
 * bytes of a file of any format that the daemon decodes; of a Map a binary PNM file (P5 or P6,
 * maxval 255) of any size, without a label; or, if the dataset or the Map says `arrays`, these, one
 * behind the other. Returns the size of the record; above `bytes`: it did not fit, and the function
 * is called again with so much room. -1: the sample is bad, and `words` say why. STOKER_NO_MORE:
 * this producer ends, and others make the sample. */
typedef int64_t stoker_make(void *context, const struct stoker_sample *sample, void *room,
			    size_t bytes, char words[STOKER_WORDS]);

/* A producer. Begin with STOKER_PRODUCER_INIT. */
struct stoker_producer {
	size_t size;	      /* of this struct, set by STOKER_PRODUCER_INIT */
	const char *code;     /* identity of the code, as `dataset_code` of its readers */
	const void *secret;   /* 16 bytes, those of its readers */
	const char *name;     /* of the code, for people; NULL: none */
	uint32_t deadline_ms; /* longest time of a sample; 0: as the daemon is set up */
	stoker_make *make;
	void *context;
	/* 1: the code is a Map's. Readers have Map(code='...') among their `transforms`, and the
	 * same `secret`. */
	int map;
};
#define STOKER_PRODUCER_INIT                                                                       \
	{                                                                                          \
		sizeof(struct stoker_producer), 0, 0, 0, 0, 0, 0, 0                                \
	}

/* Make samples for readers of a dataset of kind "code", or of a Map, as long as the daemon is
 * there: calls the function in this thread, sample by sample. After stoker_connect(), with a handle
 * that is attached to nothing. Start several processes of it.
 *
 * 0: the function returned STOKER_NO_MORE; -EINVAL something is missing; -E2BIG a member is set
 * that this library does not know; -ECONNRESET or -ESHUTDOWN: connect and call again; -ETIMEDOUT a
 * sample took too long; -ENOSPC no memory for its tray. */
STOKER_API int stoker_produce(struct stoker *stoker, const struct stoker_producer *producer);

#ifdef __cplusplus
}
#endif
#endif
