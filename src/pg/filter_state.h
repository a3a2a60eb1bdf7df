/*
 * filter_state.h
 *		Probabilistic Bloom filters as values of PostgreSQL, and as expanded objects: the
 *		state of aggregates.
 *
 * A qfilter value is a varlena: after the header it has the byte format of
 * filter/format.h.  Functions read it through a FilterReader and change it as an
 * expanded object.
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
extern const KeyHolder filter_key_holders[2]; /* filters of frequencies, Bloom filters */
extern void FilterCheck(qb_status status);
extern void FilterCheckParams(const qf_params *a, const qf_params *b);

/* How messages about keys name a filter. */
static inline const KeyHolder *
FilterKeyHolder(const qf_filter *filter)
{
	return &filter_key_holders[qf_is_bloom(&filter->params)];
}

/* ---- the state ---- */

/* What the number beside each key means. */
typedef enum FilterInput
{
	FILTER_ROWS,  /* 1: rows are numbered as they come */
	FILTER_IDS,   /* the row's id */
	FILTER_COUNTS /* how often the row counts, 1 or more */
} FilterInput;

typedef struct FilterState
{
	KeyedState keyed; /* the weights in its buffer are the numbers of "input" */

	qf_filter filter;        /* without the keys in the buffer */
	const qf_engine *engine; /* the engine that batches go to */
	qf_flat flat;            /* how to write the value, between the two calls that flatten it */

	uint8 template_header[QF_HEADER_BYTES]; /* header of the template that passed last */

	/* For rows without ids: the source of their draws; 0: not set yet. */
	uint64 nonce;
	uint64 row; /* number of the first row in the buffer */

	FilterInput input;
	KeyType id; /* type of the rows' ids, with FILTER_IDS */
} FilterState;

/* Read access to a filter, which the datum may hold in any form.  A compact filter stays compact. */
typedef struct FilterReader
{
	const qf_filter *filter;
	qf_filter view;            /* the filter, unless it is expanded */
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

/* The "weight" argument of an ArgumentLayout is the id or the count here. */
extern const AggregateFunctions filter_functions;

/* Put a row's key into the buffer.  It is inserted with the next batch. */
static inline void
FilterPut(FilterState *expanded, uint64 fingerprint, int64 number)
{
	if (unlikely(KeyBufferIsFull(&expanded->keyed.buffer)))
		FilterMakeRoom(&expanded->keyed);
	KeyBufferAppend(&expanded->keyed.buffer, fingerprint, number);
	expanded->keyed.count++;
}

#endif
