/*
 * pieces.h
 *		Looking up a key in the few bytes of a serialized filter that it takes.
 *
 * A filter of a megabyte answers a question from some bytes at each of the key's
 * positions, or from one block.  If pieces of a stored filter can be read alone, these
 * suffice:
 *
 *		qf_open(&view, header, length);		the header's bytes are enough
 *		set = qf_count_stored(&view, h, false, &source);
 *
 * A dense filter is read at one offset for each position, or for the block.  A compact
 * one is read at two: where the data of a group of bits begin and end, and these data.
 *
 * src/filter/pieces.h
 */
#ifndef QF_PIECES_H
#define QF_PIECES_H

#include "filter/filter.h"

/* Reads pieces of serialized bytes.  "read" may jump out. */
typedef struct qf_source
{
	void (*read)(void *context, uint64_t offset, uint32_t bytes, uint8_t *out);
	void *context;
} qf_source;

/*
 * How many positions of h are set in a filter of which only the header was opened.
 * "all": the caller only asks whether all are set, so reading stops at the first that
 * is not.
 */
extern uint32_t
qf_count_stored(const qf_filter *view, uint64_t h, bool all, const qf_source *source);

/* The same for a compact view that has all its bytes. */
extern uint32_t qf_count_compact(const qf_filter *view, uint64_t h, bool all);

#endif
