/*
 * sketch_top_expanded.h
 *		A sketch with its most frequent keys as an expanded object.
 *
 * src/pg/sketch_top_expanded.h
 */
#ifndef QS_PG_SKETCH_TOP_EXPANDED_H
#define QS_PG_SKETCH_TOP_EXPANDED_H

#include "pg/keybuffer.h"
#include "pg/keytext.h"
#include "pg/sketch_value.h"

#include "sketch/top.h"
#include "utils/expandeddatum.h"

typedef struct ExpandedTop
{
	ExpandedObjectHeader header; /* whose methods tell that this is ours */

	qs_sketch sketch; /* without the buffered keys, like */
	qs_top top;       /* the candidates */
	qs_memory memory; /* allocates in the object's context */

	KeyType key;      /* of the keys that are added; type 0 = not known yet */
	KeyWriter writer; /* of those that have texts */
	int64 members;    /* keys or values added */
	int64 batches;    /* of keys that went to the engine */

	uint8 template_mark[QS_HEADER_BYTES]; /* of the template that passed last */
	bool accounted;                       /* PostgreSQL watches how much memory it takes */

	KeyBuffer buffer; /* keys not yet in the sketch, */
	Datum *value;     /* and their values, if they have texts: by reference, places in */
	char *arena;      /* where these lie */
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

extern const ExpandedObjectMethods expanded_top_methods;

extern MemoryContext TopStatesContext(MemoryContext aggregate);
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
extern void TopMergeFlat(ExpandedTop *top, struct varlena *value);

/* sketch_top_errors.c */
extern const KeyHolder top_key_holder;
extern uint32 TopCheckN(int32 n);
extern void TopOpen(qs_top *top, qs_sketch *sketch, struct varlena *value);
extern void TopBadFormat(qs_status status, int sqlstate, const uint8 *bytes, Size length)
	__attribute__((noreturn));

/* The state of a row after the first one of its group; else NULL.  See ExpandedInState(). */
static inline ExpandedTop *
TopInState(Datum datum)
{
	struct varatt_expanded pointer;

	if (!VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(datum)))
		return NULL;
	memcpy(&pointer, VARDATA_EXTERNAL(DatumGetPointer(datum)), sizeof(pointer));
	Assert(pointer.eohptr->eoh_methods == &expanded_top_methods);
	return (ExpandedTop *) pointer.eohptr;
}

/* Count a key that is an integer; the buffer has room. */
static inline void
TopPutInteger(ExpandedTop *top, uint64 fingerprint)
{
	KeyBufferPut(&top->buffer, fingerprint);
	top->members++;
}

#endif
