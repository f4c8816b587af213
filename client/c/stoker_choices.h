/* SPDX-License-Identifier: MIT */
/* Made by tests/golden/languages.py from proto/tables.h. The words of options
 * that are one of a few, and the types of a field's numbers; stoker.h includes it. */
#ifndef STOKER_CHOICES_H
#define STOKER_CHOICES_H

/* dtype: the type of a field's numbers, as NumPy calls it; of pictures uint8, uint16, float16,
 * bfloat16, or float32. */
#define STOKER_DTYPE_BOOL "bool"
#define STOKER_DTYPE_INT8 "int8"
/* bytes, as in the picture */
#define STOKER_DTYPE_UINT8 "uint8"
#define STOKER_DTYPE_INT16 "int16"
/* numbers of 16 bits, as in the file */
#define STOKER_DTYPE_UINT16 "uint16"
/* numbers of 2 bytes */
#define STOKER_DTYPE_FLOAT16 "float16"
/* numbers of 2 bytes, with the range of float32 */
#define STOKER_DTYPE_BFLOAT16 "bfloat16"
#define STOKER_DTYPE_INT32 "int32"
#define STOKER_DTYPE_UINT32 "uint32"
/* numbers of 4 bytes */
#define STOKER_DTYPE_FLOAT32 "float32"
#define STOKER_DTYPE_INT64 "int64"
#define STOKER_DTYPE_UINT64 "uint64"
#define STOKER_DTYPE_FLOAT64 "float64"
#define STOKER_DTYPE_COMPLEX64 "complex64"
#define STOKER_DTYPE_COMPLEX128 "complex128"
#define STOKER_DTYPE_TEXT "text"
#define STOKER_DTYPE_BYTES "bytes"

/* layout: NCHW (default) or NHWC. */
/* channels first */
#define STOKER_LAYOUT_NCHW "NCHW"
/* channels last */
#define STOKER_LAYOUT_NHWC "NHWC"

/* bad_samples: error (default) or substitute. */
/* a batch with a bad sample is left out, with an error */
#define STOKER_BAD_SAMPLES_ERROR "error"
/* a neighbour takes the place of a bad sample */
#define STOKER_BAD_SAMPLES_SUBSTITUTE "substitute"

/* last_batch: short (default), drop, pad or wrap. */
/* the last batch of an epoch has what is left */
#define STOKER_LAST_BATCH_SHORT "short"
/* a last batch that is not whole is left out */
#define STOKER_LAST_BATCH_DROP "drop"
/* it is filled up with the start of the epoch */
#define STOKER_LAST_BATCH_PAD "pad"
/* it is filled up with the start of the next epoch */
#define STOKER_LAST_BATCH_WRAP "wrap"

/* start: position (default), or live: where the stream is now. */
/* at epoch and position */
#define STOKER_START_POSITION "position"
/* where the stream is now */
#define STOKER_START_LIVE "live"

/* pace: auto (default), free or together. */
/* goes on without a slower reader after a moment */
#define STOKER_PACE_AUTO "auto"
/* goes on without a slower reader at once */
#define STOKER_PACE_FREE "free"
/* waits for slower readers, and they for it */
#define STOKER_PACE_TOGETHER "together"

/* order: global (default) or shards: how it is shuffled. */
/* shuffled over all samples */
#define STOKER_ORDER_GLOBAL "global"
/* shards are shuffled, then runs of samples within them */
#define STOKER_ORDER_SHARDS "shards"

/* resize: whose bytes a resize makes: pillow-12 (absent) or pillow-13. */
/* as Pillow 12.3 and all before it */
#define STOKER_RESIZE_PILLOW_12 "pillow-12"
/* as Pillow 13 */
#define STOKER_RESIZE_PILLOW_13 "pillow-13"

#endif
