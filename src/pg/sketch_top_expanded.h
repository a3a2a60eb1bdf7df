/*
 * sketch_top_expanded.h
 *		A sketch with its most frequent keys as an expanded object.
 *
 * src/pg/sketch_top_expanded.h
 */
#ifndef QS_PG_SKETCH_TOP_EXPANDED_H
#define QS_PG_SKETCH_TOP_EXPANDED_H

#include "pg/keytext.h"
#include "pg/sketch_value.h"
#include "pg/state.h"

#include "sketch/top.h"

typedef struct ExpandedTop
{
	KeyedState keyed;

	/* Both without the keys in the buffer. */
	qs_sketch sketch;
	qs_top top; /* the candidates */

	uint8 template_mark[QS_HEADER_BYTES]; /* of the template that passed last */

	/* Of keys that have texts. */
	KeyWriter writer;
	Datum *value; /* of each key in the buffer; if by reference, its place in the arena */
	char *arena;
	Size arena_used;
	Size arena_size;
} ExpandedTop;

/* Read access, whatever the datum is made of. */
typedef struct TopReader
{
	const qs_top *top;
	const qs_sketch *sketch;
	qs_top view; /* what these point to unless it is expanded */
	qs_sketch sketch_view;
	struct varlena *own; /* detoasted copy to be freed, or NULL */
} TopReader;

extern const KeyedStateType top_state_type;

extern ExpandedTop *TopCreate(MemoryContext context, const qs_params *params, uint32 n);
extern ExpandedTop *TopCopy(MemoryContext context, const TopReader *from);
extern ExpandedTop *TopExpandedIn(Datum datum);
extern ExpandedTop *TopForUpdate(MemoryContext aggregate, Datum datum);
extern void TopRead(TopReader *reader, Datum datum);
extern void TopReadEnd(TopReader *reader);

extern void TopSetKey(ExpandedTop *top, const KeyType *key);
extern void TopMakeRoom(ExpandedTop *top);
extern void TopCount(ExpandedTop *top, Datum value);
extern void
TopCountNow(ExpandedTop *top, uint64 fingerprint, const char *text, uint32 length, int64 weight);
extern void TopFlush(ExpandedTop *top);
extern void TopSettle(ExpandedTop *top);
extern void TopMerge(ExpandedTop *top, const qs_top *from, const qs_sketch *from_sketch);

/* sketch_top_errors.c */
extern const KeyHolder top_key_holder;
extern uint32 TopCheckN(int32 n);
extern void TopOpen(qs_top *top, qs_sketch *sketch, struct varlena *value);
extern void TopBadFormat(qs_status status, int sqlstate, const uint8 *bytes, Size length)
	__attribute__((noreturn));

/* Count a key that is an integer; the buffer has room. */
static inline void
TopPutInteger(ExpandedTop *top, uint64 fingerprint)
{
	KeyBufferPut(&top->keyed.buffer, fingerprint);
	top->keyed.members++;
}

#endif
