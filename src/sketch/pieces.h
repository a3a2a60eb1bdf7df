/*
 * pieces.h
 *		The few bytes of a serialized sketch that one estimate reads.
 *
 * A dense sketch of a megabyte answers a question from 32 bytes.  If parts of a
 * stored sketch can be read alone, these bytes suffice: the bucket of a key is by
 * itself a sketch of one bucket (thread: of one counter in each row), which gives
 * the key the same estimate.
 *
 *		qs_open(&view, header, length);		the header's bytes are enough
 *		count = qs_pieces(&view, hv, piece);
 *		... read the pieces, one after another, into "bytes" ...
 *		if (qs_high_piece(&view, bytes, &piece)) ... read it behind the others ...
 *		qs_from_pieces(&one, &view, bytes);
 *		one.ops->query(&one, &hv, 1, &estimate);
 *
 * src/sketch/pieces.h
 */
#ifndef QS_PIECES_H
#define QS_PIECES_H

#include "sketch/sketch.h"

/* Room for all pieces of one key; a fat bucket of wide counters is the largest. */
#define QS_PIECES_BYTES (8 * 64 * 8)

typedef struct qs_piece
{
	uint64_t offset; /* in the serialized bytes */
	uint32_t bytes;
} qs_piece;

/* Pieces of hv in a dense view; "piece" has room for QS_DEPTH_MAX.  Returns how many. */
extern uint32_t qs_pieces(const qs_sketch *view, uint64_t hv, qs_piece *piece);

/* The high bucket that a low bucket of multilevel names; false if none. */
extern bool qs_high_piece(const qs_sketch *view, uint8_t *low, qs_piece *piece);

/* The sketch of one bucket; "bytes" must outlive it. */
extern void qs_from_pieces(qs_sketch *one, const qs_sketch *view, uint8_t *bytes);

#endif
