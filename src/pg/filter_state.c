/*
 * filter_state.c
 *		A filter as an expanded object: the state of aggregates, and its size for the planner.
 *
 * A full buffer of keys goes to the engine as one batch.  A row's number comes from its
 * index in the buffer, so the bits that it sets do not depend on the time of the flush.
 * Before the filter is read it is materialized: the buffer is flushed, and the engine brings
 * the bits here.  Materializing does not change the value.
 *
 * A filter records which keys it holds when its first row comes.  Without rows it is
 * the same as a new one.
 *
 * src/pg/filter_state.c
 */
#include "pg/filter_state.h"

#include "gpu/filter_gpu.h"
#include "pgbase/process.h"
#include "pgbase/activity.h"
#include "pgbase/state.h"
#include "utils/memutils.h"

/* A state whose filter is not set yet. */
static FilterState *
create_object(MemoryContext context)
{
	FilterState *expanded = StateCreate(&filter_state_type, context);

	expanded->engine = &qf_engine_cpu;
	return expanded;
}

/* An empty filter that lives in "context". */
FilterState *
FilterCreate(MemoryContext context, const qf_params *params)
{
	FilterState *expanded = create_object(context);

	qf_init(&expanded->filter, params, &expanded->keyed.memory);
	return expanded;
}

/* A copy of a filter that lives in "context". */
FilterState *
FilterCopy(MemoryContext context, const qf_filter *filter)
{
	FilterState *expanded = create_object(context);

	FilterCheck(qf_copy(&expanded->filter, filter, &expanded->keyed.memory));
	return expanded;
}

/* Choose the engine for a new state of an aggregate. */
void
FilterChooseEngine(FilterState *expanded)
{
	expanded->engine = GpuFilterEngine();
}

/* The expanded filter that a datum points to, or NULL. */
FilterState *
FilterStateIn(Datum datum)
{
	return StateExpandedIn(datum, &filter_state_type);
}

/*
 * Read access to a filter until FilterReadEnd() or the end of the datum.  An expanded
 * filter is read in place, with all its keys inserted.  A compact one stays compact.
 */
void
FilterRead(FilterReader *reader, Datum datum)
{
	FilterState *expanded = FilterStateIn(datum);
	struct varlena *value;

	reader->own = NULL;
	if (expanded)
	{
		FilterMaterialize(expanded);
		reader->filter = &expanded->filter;
		return;
	}
	value = ValueDetoast(datum, &reader->own);
	FilterOpen(&reader->view, value);
	reader->filter = &reader->view;
}

/* Free what reading allocated, for callers that read many filters in one context. */
void
FilterReadEnd(FilterReader *reader)
{
	if (reader->own)
		pfree(reader->own);
	reader->own = NULL;
}

/*
 * The filter of a datum, to be changed.  It is the datum's own object if that may be
 * changed.  Otherwise it is a copy, among the states of "aggregate", or with NULL in a
 * context of its own.
 */
FilterState *
FilterForUpdate(MemoryContext aggregate, Datum datum)
{
	FilterState *expanded = StateToChange(datum, &filter_state_type);
	FilterReader reader;

	if (expanded)
		return expanded;
	FilterRead(&reader, datum);
	expanded = FilterCopy(StateContext(&filter_state_type, aggregate), reader.filter);
	FilterReadEnd(&reader);
	return expanded;
}

/* The buffer as a batch for the engine. */
static qf_batch
batch_of(FilterState *expanded)
{
	KeyBuffer *buffer = &expanded->keyed.buffer;
	bool ids = expanded->input == FILTER_IDS;

	if (ids && buffer->weight == NULL) /* no weights are kept: all are 1 */
		KeyBufferWeigh(buffer);
	return (qf_batch){ .fingerprint = buffer->fingerprint,
					   .count = buffer->count,
					   .nonce = ids ? 0 : expanded->nonce,
					   .first_row = expanded->row,
					   .row = ids ? (const uint64 *) buffer->weight : NULL,
					   .copies = ids ? NULL : buffer->weight };
}

/* The most bits that a row sets, or the average where that is good enough. */
static double
bits_of_row(const FilterState *expanded)
{
	const qf_params *params = &expanded->filter.params;

	return expanded->input == FILTER_COPIES ? params->k : params->k * qf_probability(params);
}

/*
 * How many rows to collect.  A hash aggregate looks at its memory when a row comes, not
 * when results are read.  So rows that may make the filter dense are not collected: the
 * aggregate must see the memory of the dense encoding.
 */
static int
most_room(const FilterState *expanded)
{
	const qf_filter *filter = &expanded->filter;
	double left = (double) qf_explicit_limit(&filter->params) - (double) filter->ones;
	double batch = (double) expanded->engine->batch(filter);

	if (!expanded->keyed.accounted || filter->encoding != QF_EXPLICIT)
		return (int) batch;
	return (int) Max(1, Min(batch, left / 2 / bits_of_row(expanded)));
}

/* Give the whole buffer to the engine.  After an error the rows are still in it. */
void
FilterFlush(FilterState *expanded)
{
	qf_filter *filter = &expanded->filter;
	int64 rows = filter->rows;
	qf_batch batch;
	qb_status status;

	if (expanded->keyed.buffer.count == 0)
		return;
	KeyFamilyCheckProbe(&filter->keys, &expanded->keyed.key, FilterKeyHolder(filter));
	batch = batch_of(expanded);
	status = expanded->engine->insert(filter, &batch);
	if (status != QB_OK)
		filter->rows = rows;
	FilterCheck(status);
	filter->keys = expanded->keyed.key.keys;
	expanded->row += batch.count;
	expanded->keyed.buffer.count = 0;
	expanded->keyed.batches++;
	StatCountBatch(filter->remote != NULL, batch.count);
	KeyBufferLimit(&expanded->keyed.buffer, most_room(expanded));
}

/*
 * Insert rows of the keys of cached columns, and take the pages off their sets that were done.
 * The filter is a Bloom filter, and its engine that of the GPU.
 */
void
FilterAddColumn(FilterState *expanded, const GpuColumnChunk *chunk, int chunks)
{
	qf_filter *filter = &expanded->filter;
	int64 count;

	FilterFlush(expanded);
	KeyFamilyCheckProbe(&filter->keys, &expanded->keyed.key, FilterKeyHolder(filter));
	FilterCheck(GpuFilterAddColumn(filter, chunk, chunks, &count));
	expanded->keyed.batches++;
	StatCountBatch(filter->remote != NULL, count);
	if (count == 0)
		return;
	filter->keys = expanded->keyed.key.keys;
	expanded->row += count;
	expanded->keyed.count += count;
	KeyBufferLimit(&expanded->keyed.buffer, most_room(expanded));
}

/* Flush the buffer and bring the bits here, to be read or changed. */
void
FilterMaterialize(FilterState *expanded)
{
	FilterFlush(expanded);
	FilterCheck(expanded->engine->materialize(&expanded->filter));
}

/* Make room in a full buffer: flush it, and let it grow. */
void
FilterMakeRoom(FilterState *expanded)
{
	FilterFlush(expanded);
	KeyBufferGrow(&expanded->keyed.buffer, expanded->keyed.header.eoh_context, most_room(expanded));
}

/* Set the keys and the numbers of the rows to come.  Keys must fit those already there. */
void
FilterSetInput(FilterState *expanded, const KeyType *key, FilterInput input)
{
	FilterFlush(expanded);
	KeyFamilyCheckProbe(&expanded->filter.keys, key, FilterKeyHolder(&expanded->filter));
	expanded->keyed.key = *key;
	if (expanded->input != input)
		KeyBufferFree(&expanded->keyed.buffer);
	expanded->input = input;
	if (input != FILTER_IDS && expanded->nonce == 0 && !qf_is_bloom(&expanded->filter.params))
		expanded->nonce = NonceNew();
}

/* Add another filter of the same parameters. */
void
FilterMerge(FilterState *expanded, const qf_filter *from)
{
	FilterFlush(expanded);
	FilterCheckMergeable(&expanded->filter, from);
	FilterCheck(expanded->engine->merge(&expanded->filter, from));
}

/* The filter as a value, also where its flat encoding is a token. */
static Size
pass_bytes(KeyedState *state)
{
	FilterState *expanded = (FilterState *) state;

	FilterMaterialize(expanded);
	return FilterFlatSize(&expanded->filter, &expanded->flat);
}

static void
pass(KeyedState *state, void *place, Size bytes)
{
	FilterState *expanded = (FilterState *) state;

	FilterWrite(&expanded->filter, &expanded->flat, place);
}

static Size
get_flat_size(ExpandedObjectHeader *header)
{
	FilterState *expanded = (FilterState *) header;

	if (!StateTakesToken(&expanded->keyed))
		return pass_bytes(&expanded->keyed);
	FilterMaterialize(expanded);
	return StateTokenSize();
}

static void
flatten_into(ExpandedObjectHeader *header, void *result, Size size)
{
	FilterState *expanded = (FilterState *) header;

	if (StateTakesToken(&expanded->keyed))
		StateTokenWrite(&expanded->keyed, result);
	else
		pass(&expanded->keyed, result, size);
}

static void
make_room(KeyedState *state)
{
	FilterMakeRoom((FilterState *) state);
}

static void
flush(KeyedState *state)
{
	FilterFlush((FilterState *) state);
}

static void
merge(KeyedState *state, void *passed)
{
	qf_filter view;

	FilterOpen(&view, passed);
	FilterMerge((FilterState *) state, &view);
}

static void
release(KeyedState *state)
{
	FilterState *expanded = (FilterState *) state;

	qf_free(&expanded->filter);
	KeyBufferFree(&state->buffer);
}

const KeyedStateType filter_state_type = {
	.methods = { get_flat_size, flatten_into },
	.size = sizeof(FilterState),
	.value = "a filter",
	.own_context = "qfilter",
	.states_context = "qfilter states",
	.make_room = make_room,
	.flush = flush,
	.merge = merge,
	.release = release,
	.pass_bytes = pass_bytes,
	.pass = pass,
};

/* ---- its size, for the planner ---- */

/* Bytes of a set bit in the explicit encoding, whose table is a quarter to half full. */
#define EXPLICIT_BIT (4 * sizeof(uint32))

/* Bytes of a row in the buffer: fingerprint and number.  The buffer may be four times too large. */
#define BUFFERED_ROW (4 * (sizeof(uint64) + sizeof(int64)))

/* How many bits the rows set.  In a Bloom filter all rows of a key set the same bits. */
static double
set_bits(const qf_params *params, double keys, double rows)
{
	return params->k * qf_probability(params) * (qf_is_bloom(params) ? keys : rows);
}

static double
state_space(const Const *template, double keys, double rows)
{
	double space = sizeof(FilterState) + Min(rows * BUFFERED_ROW, QF_BATCH * BUFFERED_ROW / 4);
	qf_params params;
	FilterReader reader;
	double bits;

	if (template == NULL)
		return 0;
	FilterRead(&reader, template->constvalue);
	params = reader.filter->params;
	FilterReadEnd(&reader);
	bits = set_bits(&params, keys, rows);
	if (bits <= (double) qf_explicit_limit(&params))
		return space + bits * EXPLICIT_BIT;
	return space + (double) qf_dense_size(&params);
}

SQL_FUNCTION(qfilter_support, StateSizeSupport(fcinfo, state_space));
