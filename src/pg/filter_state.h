/*
 * filter_state.h
 *		Filters as values of PostgreSQL, and as expanded objects, which are states of aggregates.
 *
 * A qfilter value is a varlena whose data have the byte format of filter/format.h.  Functions read
 * the value through a FilterReader, and change it as an expanded object.
 *
 * src/pg/filter_state.h
 */
#ifndef QS_PG_FILTER_STATE_H
#define QS_PG_FILTER_STATE_H

#include "postgres.h"
#include "fmgr.h"

#include "engine/filter_engine.h"
#include "filter/format.h"
#include "gpu/column_gpu.h"
#include "pgbase/keyfamily.h"
#include "pgbase/memory.h"
#include "pgbase/state.h"
#include "pgbase/aggregate.h"

extern bool FilterOpenStored(qf_filter *view, Datum datum);
extern struct varlena *FilterFlatten(const qf_filter *filter);

extern const ValueFormat filter_format;
extern const KeyHolder filter_key_holders[2]; /* index: qf_is_bloom() */
extern void FilterCheck(qb_status status);
extern void FilterCheckParams(const qf_params *a, const qf_params *b);

/* The nouns for a filter in messages about its keys. */
static inline const KeyHolder *
FilterKeyHolder(const qf_filter *filter)
{
	return &filter_key_holders[qf_is_bloom(&filter->params)];
}

/* ---- the state ---- */

/* The meaning of the number that FilterPut() receives with each key. */
typedef enum FilterInput
{
	FILTER_ROWS,  /* always 1: the state numbers the rows */
	FILTER_IDS,   /* the row's id */
	FILTER_COUNTS /* the row's count, at least 1 */
} FilterInput;

typedef struct FilterState
{
	KeyedState keyed; /* the buffer's weights are the numbers that "input" describes */

	qf_filter filter;        /* the filter, without the rows in the buffer */
	const qf_engine *engine; /* the engine that inserts batches */
	qf_flat flat;            /* encoding and size of the flat value, set by pass_bytes() */

	uint8 template_header[QF_HEADER_BYTES]; /* header of the last template that was checked */

	uint64 nonce; /* seed of the draws of rows without ids; 0: not set yet */
	uint64 row;   /* number of the first row in the buffer */

	FilterInput input; /* meaning of the rows' numbers */
	KeyType id;        /* type of the rows' ids, for FILTER_IDS */
} FilterState;

/* Read access to a flat, stored or expanded filter.  A compact filter stays compact. */
typedef struct FilterReader
{
	const qf_filter *filter;
	qf_filter view;            /* view of the value's bytes, unless the filter is expanded */
	struct varlena *detoasted; /* detoasted copy to free, or NULL */
} FilterReader;

extern const KeyedStateType filter_state_type;

extern FilterState *FilterCreate(MemoryContext context, const qf_params *params);
extern FilterState *FilterCopy(MemoryContext context, const qf_filter *filter);
extern void FilterChooseEngine(FilterState *expanded, const StateWork *work);
extern void FilterRead(FilterReader *reader, Datum datum);
extern void FilterReadEnd(FilterReader *reader);

extern void FilterSetInput(FilterState *expanded, const KeyType *key, FilterInput input);
extern void FilterMakeRoom(KeyedState *state);
extern void FilterAddColumn(FilterState *expanded, const GpuColumnChunk *chunk, int chunks);
extern void FilterFlush(KeyedState *state);
extern void FilterMaterialize(FilterState *expanded);
extern void FilterReadTemplate(Datum template, bool null, qf_params *params);

/* "weight" of a filter's ArgumentLayout is the position of the id or the count. */
extern const AggregateFunctions filter_functions;

/* Put a row's key and number into the buffer.  The next flush inserts the row into the filter. */
static inline void
FilterPut(FilterState *expanded, uint64 fingerprint, int64 number)
{
	if (unlikely(KeyBufferIsFull(&expanded->keyed.buffer)))
		FilterMakeRoom(&expanded->keyed);
	KeyBufferAppend(&expanded->keyed.buffer, fingerprint, number);
	expanded->keyed.count++;
}

#endif
