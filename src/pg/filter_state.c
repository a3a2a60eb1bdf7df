/*
 * filter_state.c
 *		Reads and writes qfilter values, and implements filters as expanded objects.
 *
 * The input functions validate the values of users.  So reading a value checks only its header and
 * length.  These checks are enough to keep every operation inside the value's bytes.
 *
 * The expanded object is the state of aggregates.  The engine inserts a full buffer of keys as one
 * batch.  The number of a row without an id is the number of the buffer's first row plus the row's
 * index in the buffer.  So the bits that a row sets do not depend on the time of the flush.  The
 * filter is materialized before it is read: the buffer is flushed, and the engine copies the bits
 * from the device into this process.  Materializing does not change the value.
 *
 * The first row sets the filter's key family.  A filter without rows equals a new filter.
 *
 * src/pg/filter_state.c
 */
#include "pg/filter_state.h"

#include "engine/filter_engine.h"
#include "gpu/filter_gpu.h"
#include "pgbase/keycheck.h"
#include "pgbase/process.h"
#include "pgbase/segment.h"
#include "pgbase/activity.h"
#include "pgbase/stored.h"
#include "utils/memutils.h"

/* Open a value from its header; "length" is the length of the value. */
static void
open_bytes(qf_filter *view, const uint8 *bytes, Size length)
{
	qb_status status = qf_open(view, bytes, length);

	if (status != QB_OK)
		FormatRaise(&filter_format, status, ERRCODE_DATA_CORRUPTED, bytes, length);
	KeysCheck(&view->keys, &filter_format, ERRCODE_DATA_CORRUPTED);
}

/* Open a detoasted value. */
static void
open_view(qf_filter *view, struct varlena *value)
{
	open_bytes(view, (const uint8 *) VARDATA(value), VARSIZE(value) - VARHDRSZ);
}

/*
 * Open the header of a filter that is stored out of line.  The view has no bits.  False: parts of
 * the datum cannot be read separately.
 */
bool
FilterOpenStored(qf_filter *view, Datum datum)
{
	uint8 header[QF_HEADER_BYTES];
	Size length;

	if (!StoredReadHeader(&filter_format, datum, header, &length))
		return false;
	open_bytes(view, header, length);
	view->bits = NULL;
	view->compact = NULL;
	return true;
}

/*
 * Choose the encoding in which a filter is written, and return the size of the varlena in bytes.
 * The largest filter has half a gigabyte, which PostgreSQL can store.
 */
static Size
flat_size(const qf_filter *filter, qf_flat *flat)
{
	StaticAssertStmt(VARHDRSZ + QF_HEADER_BYTES + QF_BITS_MAX / 8 <= MaxAllocSize,
					 "the largest filter cannot be stored");
	*flat = qf_flat_of(filter);
	return VARHDRSZ + flat->bytes;
}

static void
write_flat(const qf_filter *filter, const qf_flat *flat, struct varlena *out)
{
	SET_VARSIZE(out, VARHDRSZ + flat->bytes);
	qf_write(filter, flat, (uint8 *) VARDATA(out));
}

/* Return the filter as a palloc'd flat value. */
struct varlena *
FilterFlatten(const qf_filter *filter)
{
	qf_flat flat;
	struct varlena *out = palloc(flat_size(filter, &flat));

	write_flat(filter, &flat, out);
	return out;
}

/* ---- errors ---- */

const ValueFormat filter_format = { "filter", QF_FORMAT_VERSION_1, QF_HEADER_BYTES };

/* Nouns and lookup functions for messages: [0] of frequency filters, [1] of Bloom filters. */
const KeyHolder filter_key_holders[2] = {
	{ "filter", "filters", "qfilter_estimate_key" },
	{ "filter", "filters", "qfilter_contains_key" },
};

/* Raise an error unless the status is QB_OK. */
void
FilterCheck(qb_status status)
{
	if (status == QB_TOTAL_OVERFLOW)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("number of rows out of range"),
				 errhint("A filter counts at most 9223372036854775807 rows.")));
	if (status != QB_OK)
		StatusRaise(status, filter_format.noun, NULL);
}

/* Return a list of the parameters in which two filters differ, with the values of both filters. */
static char *
differences(const qf_params *a, const qf_params *b)
{
	StringInfoData text;

	initStringInfo(&text);
	if (a->m != b->m)
		appendStringInfo(&text, ", bits " UINT64_FORMAT " and " UINT64_FORMAT, a->m, b->m);
	if (a->k != b->k)
		appendStringInfo(&text, ", hashes %u and %u", a->k, b->k);
	if (a->q != b->q)
		appendStringInfo(&text, ", probability %.9g and %.9g", qf_probability(a),
						 qf_probability(b));
	if (a->seed != b->seed)
		appendStringInfo(&text, ", seed " INT64_FORMAT " and " INT64_FORMAT, (int64) a->seed,
						 (int64) b->seed);
	if (a->layout != b->layout)
		appendStringInfo(&text, ", layout %s and %s", qf_layout_name((int) a->layout),
						 qf_layout_name((int) b->layout));
	return text.data + 2;
}

/*
 * The errhint() for filters that differ: fold the larger filter, or use one template for both
 * filters.
 */
static int
hint_size(const qf_params *a, const qf_params *b)
{
	const qf_params *large = a->m > b->m ? a : b;
	qf_params folded = *large;
	int halvings;

	folded.m = Min(a->m, b->m);
	halvings = qf_params_halvings(large->m, folded.m);
	if (halvings > 0 && qf_params_mergeable(&folded, large == a ? b : a))
		return errhint("Fold the larger one: qfilter_fold(filter, %d).", halvings);
	return errhint("Make all filters with one template: bits, hashes, probability, seed and layout "
				   "must be equal.");
}

/* Raise an error unless two filters can be merged. */
static void
check_mergeable(const qf_filter *a, const qf_filter *b)
{
	if (!qf_params_mergeable(&a->params, &b->params))
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
						errmsg("filters differ: %s", differences(&a->params, &b->params)),
						hint_size(&a->params, &b->params)));
	KeyFamilyCheckSame(&a->keys, &b->keys, FilterKeyHolder(a));
}

/*
 * Raise an error unless the templates of two rows or states are equal.  The order of the templates
 * in the message does not depend on the plan.
 */
void
FilterCheckParams(const qf_params *a, const qf_params *b)
{
	if (!qf_params_mergeable(a, b))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("template differs between rows of one group: %s",
						memcmp(a, b, sizeof(*a)) < 0 ? differences(a, b) : differences(b, a)),
				 errhint("Group by the template, or use one for all rows.")));
}

/* ---- the state ---- */

/* Create a state whose filter is not initialized yet. */
static FilterState *
create_object(MemoryContext context)
{
	FilterState *expanded = StateCreate(&filter_state_type, context);

	expanded->engine = &qf_engine_cpu;
	return expanded;
}

/* Create a state with an empty filter, in "context". */
FilterState *
FilterCreate(MemoryContext context, const qf_params *params)
{
	FilterState *expanded = create_object(context);

	qf_init(&expanded->filter, params, &expanded->keyed.memory);
	return expanded;
}

/* Create a state with a copy of a filter, in "context". */
FilterState *
FilterCopy(MemoryContext context, const qf_filter *filter)
{
	FilterState *expanded = create_object(context);

	FilterCheck(qf_copy(&expanded->filter, filter, &expanded->keyed.memory));
	return expanded;
}

/* Choose the engine for a new state of an aggregate. */
void
FilterChooseEngine(FilterState *expanded, const StateWork *work)
{
	expanded->engine = GpuFilterEngine(&expanded->filter.params, work);
}

/* The expanded filter that a datum points to, or NULL. */
static FilterState *
state_in(Datum datum)
{
	return StateExpandedIn(datum, &filter_state_type);
}

/*
 * Open a filter for reading until FilterReadEnd(), or until the datum is freed.  An expanded filter
 * is materialized and read in place.  A compact filter stays compact.
 */
void
FilterRead(FilterReader *reader, Datum datum)
{
	FilterState *expanded = state_in(datum);
	struct varlena *value;

	reader->detoasted = NULL;
	if (expanded)
	{
		FilterMaterialize(expanded);
		reader->filter = &expanded->filter;
		return;
	}
	value = ValueDetoast(datum, &reader->detoasted);
	open_view(&reader->view, value);
	reader->filter = &reader->view;
}

/* Free the detoasted copy of a filter that was read. */
void
FilterReadEnd(FilterReader *reader)
{
	if (reader->detoasted)
		pfree(reader->detoasted);
	reader->detoasted = NULL;
}

static void *
copy(MemoryContext context, Datum datum)
{
	FilterReader reader;
	FilterState *expanded;

	FilterRead(&reader, datum);
	expanded = FilterCopy(context, reader.filter);
	FilterReadEnd(&reader);
	return expanded;
}

/* Return the buffer as a batch for the engine. */
static qf_batch
batch_of(FilterState *expanded)
{
	KeyBuffer *buffer = &expanded->keyed.buffer;
	bool ids = expanded->input == FILTER_IDS;

	if (ids &&
		buffer->weight == NULL) /* all weights are 1, so the buffer has no array of weights */
		KeyBufferWeigh(buffer);
	return (qf_batch){ .fingerprint = buffer->fingerprint,
					   .count = buffer->count,
					   .nonce = ids ? 0 : expanded->nonce,
					   .first_row = expanded->row,
					   .row = ids ? (const uint64 *) buffer->weight : NULL,
					   .copies = ids ? NULL : buffer->weight };
}

/*
 * The maximum number of bits that a row with a count sets, or the average number of bits that any
 * other row sets.
 */
static double
bits_of_row(const FilterState *expanded)
{
	const qf_params *params = &expanded->filter.params;

	return expanded->input == FILTER_COUNTS ? params->k : params->k * qf_probability(params);
}

/*
 * The maximum number of rows to buffer.  A hash aggregate checks its memory when a group begins,
 * but not when it reads results.  So the last flush, before the result is read, should not make the
 * filter dense.  After this number of rows, an explicit filter is probably still explicit.
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

/* Insert all rows of the buffer into the filter.  After an error, the rows stay in the buffer. */
void
FilterFlush(KeyedState *state)
{
	FilterState *expanded = (FilterState *) state;
	qf_filter *filter = &expanded->filter;
	int64 rows = filter->rows;
	qf_batch batch;
	qb_status status;

	if (expanded->keyed.buffer.count == 0)
		return;
	KeyCheckFits(&filter->keys, &expanded->keyed.key, FilterKeyHolder(filter));
	batch = batch_of(expanded);
	status = expanded->engine->insert(filter, &batch);
	if (status != QB_OK)
		filter->rows = rows;
	FilterCheck(status);
	qb_keys_take(&filter->keys, &expanded->keyed.key.keys);
	expanded->row += batch.count;
	expanded->keyed.buffer.count = 0;
	expanded->keyed.batches++;
	StatCountBatch(filter->remote != NULL, batch.count);
	KeyBufferLimit(&expanded->keyed.buffer, most_room(expanded));
}

/*
 * Insert rows with the keys of cached columns.  Pages whose keys were inserted are removed from the
 * chunks' sets of pages.  The filter must be a Bloom filter with the GPU's engine.
 */
void
FilterAddColumn(FilterState *expanded, const GpuColumnChunk *chunk, int chunks)
{
	qf_filter *filter = &expanded->filter;
	int64 count;

	FilterFlush(&expanded->keyed);
	KeyCheckFits(&filter->keys, &expanded->keyed.key, FilterKeyHolder(filter));
	FilterCheck(GpuFilterAddColumn(filter, chunk, chunks, &count));
	expanded->keyed.batches++;
	StatCountBatch(filter->remote != NULL, count);
	if (count == 0)
		return;
	qb_keys_take(&filter->keys, &expanded->keyed.key.keys);
	expanded->row += count;
	expanded->keyed.count += count;
	KeyBufferLimit(&expanded->keyed.buffer, most_room(expanded));
}

/* Flush the buffer and copy the bits into this process, to be read or changed. */
void
FilterMaterialize(FilterState *expanded)
{
	FilterFlush(&expanded->keyed);
	FilterCheck(expanded->engine->materialize(&expanded->filter));
}

/* Flush a full buffer, and enlarge it up to most_room() rows. */
void
FilterMakeRoom(KeyedState *state)
{
	FilterFlush(state);
	KeyBufferGrow(&state->buffer, state->header.eoh_context, most_room((FilterState *) state));
}

/*
 * Set the key type of the following rows, and the meaning of their numbers.  Raises an error if the
 * keys do not match the filter's keys.
 */
void
FilterSetInput(FilterState *expanded, const KeyType *key, FilterInput input)
{
	FilterFlush(&expanded->keyed);
	KeyCheckFits(&expanded->filter.keys, key, FilterKeyHolder(&expanded->filter));
	expanded->keyed.key = *key;
	if (expanded->input != input)
		KeyBufferFree(&expanded->keyed.buffer);
	expanded->input = input;
	if (input != FILTER_IDS && expanded->nonce == 0 && !qf_is_bloom(&expanded->filter.params))
		expanded->nonce = NonceNew();
}

/* Merge a filter with equal parameters into the state's filter. */
static void
merge_filter(FilterState *expanded, const qf_filter *from)
{
	FilterFlush(&expanded->keyed);
	check_mergeable(&expanded->filter, from);
	FilterCheck(expanded->engine->merge(&expanded->filter, from));
}

/* The number of bytes of the flat value that is passed to another process. */
static Size
pass_bytes(KeyedState *state)
{
	FilterState *expanded = (FilterState *) state;

	FilterMaterialize(expanded);
	return flat_size(&expanded->filter, &expanded->flat);
}

static void
pass(KeyedState *state, void *result, Size bytes)
{
	FilterState *expanded = (FilterState *) state;

	write_flat(&expanded->filter, &expanded->flat, result);
}

static void
merge(KeyedState *state, void *passed)
{
	qf_filter view;

	open_view(&view, passed);
	merge_filter((FilterState *) state, &view);
}

static void
add(KeyedState *state, Datum datum, bool of_keys)
{
	FilterState *expanded = (FilterState *) state;
	FilterReader reader;

	FilterRead(&reader, datum);
	if (of_keys)
		FilterCheckParams(&reader.filter->params, &expanded->filter.params);
	merge_filter(expanded, reader.filter);
	FilterReadEnd(&reader);
}

static void
release(KeyedState *state)
{
	FilterState *expanded = (FilterState *) state;

	qf_free(&expanded->filter);
	KeyBufferFree(&state->buffer);
}

/* ---- a filter in slices (pgbase/segment.h): each slice is a range of the words of bits ---- */

#define WORD_BYTES sizeof(uint64)

static uint64
filter_units(KeyedState *state, Size *bytes)
{
	const qf_filter *filter = &((FilterState *) state)->filter;

	FilterMaterialize((FilterState *) state);
	if (filter->encoding != QF_DENSE)
		return 0;
	*bytes = qf_words(&filter->params) * WORD_BYTES;
	return qf_words(&filter->params);
}

/* slice->data is a qf_filter with the number of rows and the key family, but without bits. */
static void
filter_add(KeyedState *state, uint64 first, uint64 count, SharedSlice *slice, dsa_area *area)
{
	const qf_filter *filter = &((FilterState *) state)->filter;
	qf_filter *merged = (qf_filter *) slice->data;
	qb_memory memory;

	if (!DsaPointerIsValid(slice->table[0]))
	{
		void *bits = SegmentMemory(area, &memory)->alloc(area, count * WORD_BYTES);

		FilterCheck(bits ? QB_OK : QB_NO_MEMORY);
		qf_init(merged, &filter->params, NULL);
		slice->table[0] = SegmentPointer(bits);
	}
	FilterCheck(qf_merge_rows(merged, filter));
	qf_kernels_now()->unite(SegmentAddress(area, slice->table[0]),
							filter->bits + first * WORD_BYTES, count);
}

static void
filter_take(KeyedState *state, uint64 first, uint64 count, const SharedSlice *slice, dsa_area *area)
{
	qf_filter *filter = &((FilterState *) state)->filter;

	if (first == 0)
	{
		FilterMaterialize((FilterState *) state);
		FilterCheck(qf_merge_rows(filter, (const qf_filter *) slice->data));
		if (filter->encoding == QF_EXPLICIT)
			FilterCheck(qf_make_dense(filter));
		filter->ones = 0;
	}
	filter->ones += qf_kernels_now()->unite(filter->bits + first * WORD_BYTES,
											SegmentAddress(area, slice->table[0]), count);
}

static void
filter_clear(KeyedState *state)
{
	qf_filter *filter = &((FilterState *) state)->filter;
	qf_params params = filter->params;

	StateTypeOf(state)->release(state);
	qf_init(filter, &params, &state->memory);
}

static const StateSlices slices = {
	.size = sizeof(qf_filter),
	.units = filter_units,
	.add = filter_add,
	.take = filter_take,
	.clear = filter_clear,
};

const KeyedStateType filter_state_type = {
	.methods = STATE_METHODS,
	.size = sizeof(FilterState),
	.value = "a filter",
	.context_name = "qfilter",
	.states_context = "qfilter states",
	.make_room = FilterMakeRoom,
	.flush = FilterFlush,
	.copy = copy,
	.add = add,
	.merge = merge,
	.slices = &slices,
	.release = release,
	.pass_bytes = pass_bytes,
	.pass = pass,
};
