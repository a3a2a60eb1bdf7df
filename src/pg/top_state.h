/*
 * top_state.h
 *		A sketch with its most frequent keys as an expanded object.
 *
 * src/pg/top_state.h
 */
#ifndef QS_PG_TOP_STATE_H
#define QS_PG_TOP_STATE_H

#include "gpu/sketch_gpu.h"
#include "pg/sketch_state.h"
#include "pgbase/keyread.h"
#include "pgbase/state.h"

#include "sketch/top.h"
#include "pgbase/aggregate.h"

typedef struct TopState
{
	KeyedState keyed;

	/* The sketch and the candidates of the counted keys.  They do not include buffered keys. */
	qs_sketch sketch;
	qs_flat flat; /* encoding that pass_bytes() chose for pass() */
	qs_top top;   /* the candidates */

	/*
	 * The sketch of cached columns, or NULL.  "counted" has counts of the sketch's frequent keys.
	 * GpuRecountedFinish() makes the counts exact.  The next read of the list adds "column" and
	 * "counted" to "sketch" and "top".
	 */
	SketchState *column;
	GpuRecounted counted;

	uint8 template_key[QS_HEADER_BYTES]; /* identifies the template that was checked last */

	/* The members below are for keys with texts. */
	KeyWriter writer;
	Datum *value; /* values of buffered keys; if passed by reference, offsets in the arena */
	char *arena;
	Size arena_used;
	Size arena_size;
} TopState;

/* Read access to the list of a datum, which is a flat value or an expanded object. */
typedef struct TopReader
{
	const qs_top *top;
	const qs_sketch *sketch;
	qs_top view; /* view of a flat value; unused for an expanded list */
	qs_sketch sketch_view;
	struct varlena *detoasted; /* detoasted copy to free, or NULL */
} TopReader;

/* Returns the key's value in row number "row" of the batch that is being counted. */
typedef Datum (*TopValueOf)(void *rows, uint32 row);

extern const KeyedStateType top_state_type;
extern const StateSlices top_slices;

extern TopState *TopCreate(MemoryContext context, const qs_params *params, uint32 n);
extern TopState *TopCopy(MemoryContext context, const TopReader *from);
extern TopState *TopStateIn(Datum datum);
extern void TopRead(TopReader *reader, Datum datum);
extern void TopReadEnd(TopReader *reader);

extern void TopSetKey(TopState *top, const KeyType *key);
extern void TopMakeRoom(KeyedState *state);
extern void TopAppend(TopState *top, uint64 fingerprint, Datum plain, int64 weight);
extern void TopCount(TopState *top, Datum value, int64 weight);
extern void
TopCountNow(TopState *top, uint64 fingerprint, const char *text, uint32 length, int64 weight);
extern void TopFlushAdded(TopState *top);
extern void TopFlush(TopState *top);
extern void TopAddCounted(TopState *top, SketchState *sketch, const GpuRecounted *counted);
extern void TopFlushRows(TopState *top, TopValueOf value_of, void *rows);
extern void TopMaterialize(TopState *top);

extern const ValueFormat top_format;
extern const KeyHolder top_key_holder;
extern uint32 TopCheckN(int64 n);
extern void TopCheckSameN(uint32 a, uint32 b);
extern void TopCheckSameTexts(const qs_top *a, const qs_top *b);
extern void TopCheckMergeable(const TopState *top, const TopReader *other);
extern void TopOpenAs(qs_top *top, qs_sketch *sketch, struct varlena *value, int sqlstate);
extern void TopOpen(qs_top *top, qs_sketch *sketch, struct varlena *value);
/* top_columns.c */
extern bool TopMayTakeColumns(const TopState *top, const StateWork *work);
extern SketchState *TopSketchFor(const TopState *top);
extern void TopFetchSketch(SketchState *sketch);
extern void TopAddColumn(TopState *top, const GpuColumnChunk *chunk, int chunks);
extern bool TopAddGroups(TopState *const *top, SketchState *const *sketch, const qb_groups *groups,
						 const GpuColumnChunk *chunk, int chunks);
/* top_functions.c */
extern const AggregateFunctions top_functions;

/*
 * Append a key without its value to a buffer that is not full.  A key of negative weight is removed
 * later, when the list is read.
 */
static inline void
TopPut(TopState *top, uint64 fingerprint, int64 weight)
{
	if (unlikely(weight < 0))
		SketchRemoveLater(&top->keyed, &top->sketch, fingerprint, -weight);
	else
		KeyBufferAppend(&top->keyed.buffer, fingerprint, weight);
	top->keyed.count++;
}

#endif
