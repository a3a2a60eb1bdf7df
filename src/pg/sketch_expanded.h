/*
 * sketch_expanded.h
 *		A sketch as an expanded object: the state of aggregates.
 *
 * src/pg/sketch_expanded.h
 */
#ifndef QS_PG_EXPANDED_H
#define QS_PG_EXPANDED_H

#include "pg/sketch_value.h"
#include "pg/state.h"

typedef struct ExpandedSketch
{
	KeyedState keyed;

	qs_sketch sketch;        /* without the buffered keys */
	const qs_engine *engine; /* where batches go */

	bool folded; /* merged from sketches of different sizes */
	bool ticket; /* its flat form is for our combine function alone */

	uint8 template_mark[QS_HEADER_BYTES]; /* of the template that passed last */

	/* With N it names the counts: no other object has it, nor this one with others. */
	uint64 version;

	/* Keys to be removed once all are added, or NULL: those of negative weight. */
	struct ExpandedSketch *removed;
} ExpandedSketch;

/* Read access to a sketch, whatever the datum is made of. */
typedef struct SketchReader
{
	const qs_sketch *sketch;
	qs_sketch view;      /* what "sketch" points to unless it is expanded */
	struct varlena *own; /* detoasted copy to be freed, or NULL */
	const uint8 *header; /* QS_HEADER_BYTES that name the content; NULL if expanded */
	uint64 version;      /* names it, with N, if expanded */
} SketchReader;

extern const KeyedStateType sketch_state_type;

extern ExpandedSketch *ExpandedCreate(MemoryContext context, const qs_params *params);
extern ExpandedSketch *ExpandedCopy(MemoryContext context, const qs_sketch *sketch);
extern ExpandedSketch *ExpandedFromTicket(MemoryContext context, Datum ticket);
extern void ExpandedPlace(ExpandedSketch *expanded);
extern ExpandedSketch *SketchExpandedIn(Datum datum);
extern void SketchRead(SketchReader *reader, Datum datum);
extern void SketchReadEnd(SketchReader *reader);
extern ExpandedSketch *ExpandedForUpdate(MemoryContext aggregate, Datum datum);

extern void ExpandedSetKind(ExpandedSketch *expanded, const KeyType *key);
extern bool ExpandedMakeRoom(ExpandedSketch *expanded);
extern void ExpandedInsert(ExpandedSketch *expanded, uint64 fingerprint, int64 weight);
extern void ExpandedRemoveLater(ExpandedSketch *expanded, uint64 fingerprint, int64 weight);
extern void ExpandedAddNow(ExpandedSketch *expanded, uint64 fingerprint, int64 weight);
extern int ExpandedMostWaiting(const qs_params *params);
extern void ExpandedFlush(ExpandedSketch *expanded);
extern void ExpandedMerge(ExpandedSketch *expanded, const qs_sketch *from);
extern void ExpandedSettle(ExpandedSketch *expanded);

/* Count an unweighted key of a row; the buffer has room and no weights. */
static inline void
ExpandedPutKey(ExpandedSketch *expanded, uint64 fingerprint)
{
	KeyBufferPut(&expanded->keyed.buffer, fingerprint);
	expanded->keyed.members++;
}

/* Count a key, now or with the next batch.  The weight is >= 0. */
static inline void
ExpandedAppend(ExpandedSketch *expanded, uint64 fingerprint, int64 weight)
{
	if (KeyBufferIsFull(&expanded->keyed.buffer) && !ExpandedMakeRoom(expanded))
		ExpandedInsert(expanded, fingerprint, weight);
	else
		KeyBufferAppend(&expanded->keyed.buffer, fingerprint, weight);
}

/* Count a row's key; if its weight is negative, remove it later. */
static inline void
ExpandedCount(ExpandedSketch *expanded, uint64 fingerprint, int64 weight)
{
	if (unlikely(weight < 0))
		ExpandedRemoveLater(expanded, fingerprint, -weight);
	else
		ExpandedAppend(expanded, fingerprint, weight);
	expanded->keyed.members++;
}

#endif
