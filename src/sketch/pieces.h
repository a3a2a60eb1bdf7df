/*
 * pieces.h
 *		An estimate from the few bytes of a serialized sketch that it takes.
 *
 * A sketch of a megabyte answers a question from some hundred bytes.  If parts of a
 * stored sketch can be read alone, these suffice: the bucket of a key is by itself a
 * sketch of one bucket (thread: of one counter in each row), which gives the key the
 * same estimate.
 *
 *		qs_open(&view, header, length);		the header's bytes are enough
 *		estimate = qs_estimate_stored(&view, hv, &source);
 *
 * A dense sketch is read at one place, two if the key has a high bucket, and d of thread.
 * A compact one is read at two places: where the data of a group of blocks begin and
 * end, and these data, in which the blocks before the wanted one must be passed.
 *
 * src/sketch/pieces.h
 */
#ifndef QS_PIECES_H
#define QS_PIECES_H

#include "sketch/sketch.h"

/* Reads parts of serialized bytes.  "read" may jump out. */
typedef struct qs_source
{
	void (*read)(void *context, uint64_t offset, uint32_t bytes, uint8_t *out);
	void *context;
} qs_source;

/* Estimate of a dense or compact sketch of which only the header was opened. */
extern int64_t qs_estimate_stored(const qs_sketch *view, uint64_t hv, const qs_source *source);

/* Estimate of a compact view that has all its bytes. */
extern int64_t qs_estimate_compact(const qs_sketch *view, uint64_t hv);

#endif
