/*
 * sketch_state.h
 *		A sketch as an expanded object: the state of aggregates.
 *
 * src/pg/sketch_state.h
 */
#ifndef QS_PG_SKETCH_STATE_H
#define QS_PG_SKETCH_STATE_H

#include "gpu/column_gpu.h"
#include "pg/sketch_value.h"
#include "pgbase/segment.h"
#include "pgbase/state.h"
#include "sketch/merge.h"

/* A compact sketch that waits to be merged, followed by its body. */
typedef struct DeferredSketch
{
	struct DeferredSketch *next;
	qs_sketch view;
	uint8 body[FLEXIBLE_ARRAY_MEMBER];
} DeferredSketch;

typedef struct SketchState
{
	KeyedState keyed;

	qs_sketch sketch;        /* sketch of the counted keys, without buffered keys and "deferred" */
	const qs_engine *engine; /* engine that counts the batches */

	qs_flat flat;        /* encoding that the size function chose for the write function */
	qs_sketch compacted; /* compact sketch of all keys to write; unset if its "compact" is NULL */
	qb_memory compacted_memory; /* allocator of "compacted" */
	int counted;                /* number of buffered keys that are already in the statistics */

	uint8 template_key[QS_HEADER_BYTES]; /* identifies the template that was checked last */

	/*
	 * The version and the total together identify the counts.  No two objects have a common
	 * version.  Different counts of one object differ in the version or in the total.
	 */
	uint64 version;

	DeferredSketch *deferred; /* list of compact sketches to be merged, or NULL */
	Size deferred_bytes;      /* bytes of memory that "deferred" takes */

	bool written;            /* the sketch was written as a value before */
	uint64 *presence;        /* presence bitmap of the sketch (sketch/compact_write.h), or NULL */
	uint64 presence_version; /* version of the sketch that the bitmap describes */
} SketchState;

/* Read access to the sketch of a datum, which is a flat value or an expanded object. */
typedef struct SketchReader
{
	const qs_sketch *sketch;
	qs_sketch view;            /* view of a flat value; unused for an expanded sketch */
	struct varlena *detoasted; /* detoasted copy to free, or NULL */
	qs_sketch tables;    /* copy with tables, if "view" is compact; unset if its "memory" is NULL */
	qb_memory memory;    /* allocator of "tables" */
	const uint8 *header; /* header bytes of a flat value; NULL: the sketch is expanded */
	uint64 version;      /* version of an expanded sketch, as in SketchState */
} SketchReader;

extern const KeyedStateType sketch_state_type;
extern const StateSlices sketch_slices;

extern SketchState *SketchCreate(MemoryContext context, const qs_params *params);
extern SketchState *SketchCopy(MemoryContext context, const qs_sketch *sketch);
extern SketchState *SketchOfToken(MemoryContext context, Datum datum);
extern void SketchFree(SketchState *expanded);
extern void SketchForgetRemoved(KeyedState *state);
extern PGDLLEXPORT void SketchChooseEngine(SketchState *expanded, const StateWork *work);
extern PGDLLEXPORT SketchState *SketchStateIn(Datum datum);

extern bool SketchKeepKeys(KeyedState *state, const qs_sketch *sketch);
extern void SketchMakeRoom(KeyedState *state);
extern void SketchInsert(SketchState *expanded, uint64 fingerprint, int64 weight);
extern bool SketchTakeOut(SketchState *expanded, uint64 fingerprint, int64 weight);
extern void
SketchRemoveLater(KeyedState *state, const qs_sketch *sketch, uint64 fingerprint, int64 weight);
extern void SketchTakeBack(KeyedState *state, const qs_sketch *sketch, Datum removals);
extern void SketchFlushAdded(KeyedState *state);
extern void SketchFlush(SketchState *expanded);
extern void SketchAddColumn(SketchState *expanded, const GpuColumnChunk *chunk, int chunks);
extern void SketchGetDense(SketchState **expanded, const qb_groups *groups,
						   const GpuColumnChunk *chunk, bool *dense);
extern bool SketchAddGroups(SketchState **expanded, const qb_groups *groups,
							const GpuColumnChunk *chunk, int chunks);
extern void SketchMerge(SketchState *expanded, const qs_sketch *from);
extern bool SketchHasFewKeys(const qs_sketch *sketch);
extern void SketchMaterializeAdded(SketchState *expanded);
extern PGDLLEXPORT void SketchMaterialize(SketchState *expanded);
extern void SketchNewVersion(SketchState *expanded);
extern PGDLLEXPORT SketchState *SketchForUpdate(MemoryContext aggregate, Datum datum);
extern void SketchSetKey(SketchState *expanded, const KeyType *key);
extern void SketchAddNow(SketchState *expanded, uint64 fingerprint, int64 weight);

/* sketch_deferred.c */
extern bool SketchDefer(SketchState *expanded, const qs_sketch *from);
extern void SketchMergeDeferred(SketchState *expanded);
extern void SketchFreeDeferred(SketchState *expanded);
extern struct varlena *SketchOfDeferred(const SketchState *expanded);

/* sketch_slices.c */
extern uint64 SketchSliceUnits(const qs_sketch *sketch, Size *bytes);
extern void
SketchSliceAdd(const qs_sketch *sketch, qs_slice units, SharedSlice *shared, dsa_area *area);
extern void
SketchSliceTake(qs_sketch *sketch, qs_slice units, const SharedSlice *shared, dsa_area *area);

/* sketch_value.c */
extern void SketchRead(SketchReader *reader, Datum datum);
extern void SketchReadAsStored(SketchReader *reader, Datum datum);
extern void SketchReadEnd(SketchReader *reader);

/* sketch_functions.c */
extern Datum SketchDistinctRow(FunctionCallInfo fcinfo, const qs_sketch *sketch);

/* Append a key of weight 1 to the buffer, which must not be full or have an array of weights. */
static inline void
SketchPutKey(SketchState *expanded, uint64 fingerprint)
{
	KeyBufferPut(&expanded->keyed.buffer, fingerprint);
	expanded->keyed.count++;
}

/* Count a key of non-negative weight, now or with the next batch. */
static inline void
SketchAppend(SketchState *expanded, uint64 fingerprint, int64 weight)
{
	if (KeyBufferIsFull(&expanded->keyed.buffer))
		SketchMakeRoom(&expanded->keyed);
	if (KeyBufferIsFull(&expanded->keyed.buffer))
		SketchInsert(expanded, fingerprint, weight);
	else
		KeyBufferAppend(&expanded->keyed.buffer, fingerprint, weight);
}

/* Count a row's key.  A key of negative weight is removed when the state is next read. */
static inline void
SketchCount(SketchState *expanded, uint64 fingerprint, int64 weight)
{
	if (unlikely(weight < 0))
		SketchRemoveLater(&expanded->keyed, &expanded->sketch, fingerprint, -weight);
	else
		SketchAppend(expanded, fingerprint, weight);
	expanded->keyed.count++;
}

#endif
