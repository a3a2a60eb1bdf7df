/*
 * filter_probe.c
 *		Lookups in filters: qfilter_estimate, qfilter_bounds, qfilter_contains.
 *
 * The functions look up a key or an array of keys.  A query may look up many keys in one stored
 * filter, which a join returns in many rows.  So the calling expression keeps copies of filters
 * that are used again, within a memory limit (stored.h).  Another query may look up one key in
 * many stored filters.  So the first lookup in a large filter reads only the byte ranges with the
 * key's positions.  In a blocked Bloom filter, these positions are in one block.
 *
 * src/pg/filter_probe.c
 */
#include "pg/filter_state.h"

#include "access/heaptoast.h"
#include "catalog/pg_type_d.h"
#include "filter/estimate.h"
#include "filter/format.h"
#include "gpu/filter_gpu.h"
#include "miscadmin.h"
#include "pgbase/value.h"
#include "pgbase/keyread.h"
#include "pgbase/stored.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"

/* A filter stored out of line. */
typedef struct StoredFilter
{
	StoredValue stored;
	FilterState *copy; /* or NULL: no copy is kept */
	Size room;         /* estimated bytes of a copy; 0: not known yet */
} StoredFilter;

/*
 * The state of a calling expression, in its fn_extra.  For the first row with a large stored
 * filter, the expression reads byte ranges of the filter.  The expression keeps a copy of a small
 * filter if the memory limit allows.  When a filter occurs in a second row, its copy may replace
 * other copies.
 */
typedef struct FilterProbe
{
	KeyProbe keys;       /* type of the rows' keys */
	FilterReader reader; /* read access to the filter of the current row */

	StoredCache filters;  /* cache of StoredFilters */
	StoredFilter *stored; /* filter of the current row; NULL: not stored out of line */
} FilterProbe;

/* How a frequency is estimated. */
typedef enum FilterMethod
{
	FILTER_CORRECTED, /* the unbiased estimate, or 0 if this estimate is negative */
	FILTER_UNBIASED,  /* correct on average; may be negative */
	FILTER_PAPER      /* the paper's estimate, for comparison */
} FilterMethod;

/* Return the probe of a calling expression.  The first call creates the probe. */
static FilterProbe *
probe_of(FunctionCallInfo fcinfo)
{
	FmgrInfo *flinfo = fcinfo->flinfo;
	FilterProbe *probe = flinfo->fn_extra;

	if (likely(probe))
		return probe;
	probe = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(FilterProbe));
	probe->keys.context = flinfo->fn_mcxt;
	StoredInit(&probe->filters, flinfo->fn_mcxt, sizeof(StoredFilter), get_hash_memory_limit());
	flinfo->fn_extra = probe;
	return probe;
}

/*
 * Fetching one range of a filter takes as long as fetching this many TOAST chunks of a whole value
 * (measured in a filter of 1 MB: 5 to 8 chunks).
 */
#define CHUNKS_PER_RANGE 8

static bool
ranges_pay(const qf_filter *view, Size bytes)
{
	uint64 ranges = view->params.layout == QF_BLOCKED ? 1 : view->params.k;

	if (view->encoding == QF_ENCODING_COMPACT)
		ranges *= 2; /* for each position: an offset, and the data at this offset */
	return ranges * CHUNKS_PER_RANGE < bytes / TOAST_MAX_CHUNK_SIZE;
}

/* Maximum bytes per set bit of an explicit filter, unless its table has the minimum size. */
#define LIST_BYTES (4 * sizeof(uint32))

/* Estimate the bytes of a copy of the filter.  A copy of a compact filter is not compact. */
static Size
room_of(const StoredFilter *stored, Datum datum)
{
	qf_filter view;
	Size bytes = stored->stored.id.va_rawsize;

	if (!FilterOpenStored(&view, datum))
		return bytes;
	if (view.ones > qf_explicit_limit(&view.params))
		return Max(bytes, qf_dense_size(&view.params));
	return Max(bytes, view.ones * LIST_BYTES);
}

/* True if the memory limit allows a copy of this row's filter, perhaps in place of other copies. */
static bool
has_room(FilterProbe *probe, Datum datum)
{
	StoredFilter *stored = probe->stored;

	if (stored->room == 0)
		stored->room = room_of(stored, datum);
	return StoredMayKeep(&probe->filters, &stored->stored, stored->room);
}

/*
 * True if the caller should read ranges of this row's stored filter, by ranges_set().  "view" then
 * has the filter's header.  False: the caller must call whole_filter().
 */
static bool
in_ranges(FilterProbe *probe, Datum datum, qf_filter *view)
{
	StoredFilter *stored = (StoredFilter *) StoredFind(&probe->filters, datum);

	probe->stored = stored;
	if (stored == NULL || stored->copy || (StoredAgain(&stored->stored) && has_room(probe, datum)))
		return false;
	return FilterOpenStored(view, datum) && ranges_pay(view, stored->stored.id.va_rawsize);
}

static void
read_range(void *context, uint64_t offset, uint32_t bytes, uint8_t *out)
{
	CHECK_FOR_INTERRUPTS();
	StoredReadRange(&filter_format, *(Datum *) context, offset, bytes, out);
}

/*
 * Count the key's set positions in a filter that is read by ranges.  "all": the caller needs only
 * to know whether all positions are set, so reading may stop at the first zero bit.
 */
static uint32
ranges_set(Datum datum, const qf_filter *view, uint64 fingerprint, bool all)
{
	qf_source source = { .read = read_range, .context = &datum };

	return qf_count_stored(view, qf_hash(fingerprint, view->seed_key), all, &source);
}

/* Keep a copy of the filter that probe->reader has read. */
static void
keep_copy(FilterProbe *probe, StoredFilter *stored)
{
	stored->copy = NULL;
	MemoryContextReset(stored->stored.context);
	stored->copy = FilterCopy(stored->stored.context, probe->reader.filter);
	StoredKept(&probe->filters, &stored->stored);
	FilterReadEnd(&probe->reader);
}

/* The whole filter of this row, after StoredFind() has set probe->stored. */
static const qf_filter *
whole_filter(FilterProbe *probe, Datum datum)
{
	StoredFilter *stored = probe->stored;

	if (stored && stored->copy)
		return &stored->copy->filter;
	FilterRead(&probe->reader, datum);
	if (stored == NULL || !has_room(probe, datum))
		return probe->reader.filter;
	keep_copy(probe, stored);
	return &stored->copy->filter;
}

/* The filter of this row.  The caller must not change it.  It is valid until the next row. */
static const qf_filter *
probed_filter(FilterProbe *probe, Datum datum)
{
	probe->stored = (StoredFilter *) StoredFind(&probe->filters, datum);
	return whole_filter(probe, datum);
}

/* ---- one key ---- */

#define KEY_ARGUMENT    1
#define METHOD_ARGUMENT 2

static const char *const methods[] = { "corrected", "unbiased", "paper" };

/* The method that an argument names. */
static FilterMethod
method_argument(FunctionCallInfo fcinfo, int argument)
{
	text *name = PG_GETARG_TEXT_PP(argument);
	int i;

	for (i = 0; i < lengthof(methods); i++)
		if (VARSIZE_ANY_EXHDR(name) == strlen(methods[i]) &&
			memcmp(VARDATA_ANY(name), methods[i], strlen(methods[i])) == 0)
			return i;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("unrecognized method: \"%s\"", text_to_cstring(name)),
					errhint("Methods are corrected, unbiased and paper.")));
}

/*
 * Prepare the scale for estimates from a filter.  Raises an error if the method cannot estimate
 * frequencies from this filter.
 */
static void
make_scale(const qf_filter *filter, FilterMethod method, qf_scale *scale)
{
	if (qf_is_bloom(&filter->params))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a Bloom filter does not tell frequencies"),
				 errhint("Use qfilter_contains to ask whether a key was there, or a filter made "
						 "by qfilter_new.")));
	if (method == FILTER_PAPER && filter->rows == QF_ROWS_UNKNOWN)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("method paper needs the number of rows, which this filter does not "
							   "know"),
						errhint("A filter of rows with ids counts none; use method corrected.")));
	qf_scale_make(scale, filter);
}

/*
 * Estimate the frequency of a key with "set" set positions.  If all positions are set, the estimate
 * is infinite, because a finite number would sort among the estimates of other keys.
 */
static double
estimate_of(const qf_scale *scale, FilterMethod method, uint32 set)
{
	if (qf_saturated(scale, set))
		return get_float8_infinity();
	if (method == FILTER_PAPER)
		return qf_estimate_paper(scale, set);
	return method == FILTER_UNBIASED ? qf_estimate(scale, set) : Max(0, qf_estimate(scale, set));
}

/* The key argument's fingerprint.  Raises an error if the filter's keys are of another family. */
static uint64
key_argument(FunctionCallInfo fcinfo, FilterProbe *probe, const qf_filter *filter)
{
	return KeyProbeArgument(&probe->keys, fcinfo, KEY_ARGUMENT, &filter->keys,
							FilterKeyHolder(filter));
}

/*
 * Count the set positions of the key argument, and prepare *scale for estimates from the filter
 * argument.
 */
static uint32
set_positions(FunctionCallInfo fcinfo, FilterMethod method, qf_scale *scale)
{
	FilterProbe *probe = probe_of(fcinfo);
	Datum datum = PG_GETARG_DATUM(0);
	qf_filter view;
	bool ranges = in_ranges(probe, datum, &view);
	const qf_filter *filter = ranges ? &view : whole_filter(probe, datum);
	uint64 fingerprint;
	uint32 set;

	make_scale(filter, method, scale);
	fingerprint = key_argument(fcinfo, probe, filter);
	if (ranges)
		return ranges_set(datum, filter, fingerprint, false);
	qf_engine_cpu.query(filter, &fingerprint, 1, &set);
	return set;
}

/* qfilter_estimate(qfilter, key, method): the estimated frequency of the key. */
PG_FUNCTION_INFO_V1(qfilter_estimate);
Datum
qfilter_estimate(PG_FUNCTION_ARGS)
{
	FilterMethod method = method_argument(fcinfo, METHOD_ARGUMENT);
	qf_scale scale;
	uint32 set = set_positions(fcinfo, method, &scale);

	PG_RETURN_FLOAT8(estimate_of(&scale, method, set));
}

/* qfilter_contains(qfilter, key): true if all positions of the key are set. */
PG_FUNCTION_INFO_V1(qfilter_contains);
Datum
qfilter_contains(PG_FUNCTION_ARGS)
{
	FilterProbe *probe = probe_of(fcinfo);
	Datum datum = PG_GETARG_DATUM(0);
	qf_filter view;
	const qf_filter *filter;
	uint64 fingerprint;

	if (in_ranges(probe, datum, &view))
	{
		fingerprint = key_argument(fcinfo, probe, &view);
		PG_RETURN_BOOL(ranges_set(datum, &view, fingerprint, true) == view.params.k);
	}
	filter = whole_filter(probe, datum);
	fingerprint = key_argument(fcinfo, probe, filter);
	PG_RETURN_BOOL(qf_has(filter, fingerprint));
}

/* qfilter_bounds(qfilter, key, confidence): lower bound, estimate, upper bound. */
PG_FUNCTION_INFO_V1(qfilter_bounds);
Datum
qfilter_bounds(PG_FUNCTION_ARGS)
{
	double deviations = qf_deviations(CheckConfidence(PG_GETARG_FLOAT8(2), true));
	Datum values[3];
	qf_bounds bounds;
	qf_scale scale;

	bounds = qf_bounds_of(&scale, set_positions(fcinfo, FILTER_CORRECTED, &scale), deviations);
	values[0] = Float8GetDatum(bounds.lower);
	values[1] = Float8GetDatum(bounds.estimate);
	values[2] = Float8GetDatum(bounds.upper);
	return ReturnRow(fcinfo, values, NULL);
}

/*
 * ---- arrays of keys ----
 *
 * qsketch.device decides whether a GPU looks up a batch of keys.  The GPU worker caches stored
 * filters for later batches, like sketches (sketch_probe.c).  A cached filter that is stored out of
 * line is found by its header and toast pointer, so this process need not read the filter's bits.
 */

/*
 * Reading one range of a compact filter takes as long as setting this many bits in a copy, or
 * zeroing this many words of the copy.
 */
#define RANGE_COST 16

/* The filter of a row, or only the filter's header, with the keys to look up. */
typedef struct Asked
{
	FilterProbe *probe;
	Datum datum;
	const qf_filter *filter;
	bool header; /* true: "filter" points to "view", which has only the header */
	qf_filter view;
	KeyBatch batch;
} Asked;

/*
 * Open the filter of a row.  If the filter is stored out of line, and the keys are enough for a
 * lookup on a device, only the filter's header is opened.
 */
static void
ask(Asked *asked, FunctionCallInfo fcinfo)
{
	ArrayType *keys = PG_GETARG_ARRAYTYPE_P(KEY_ARGUMENT);
	int count = ArrayGetNItems(ARR_NDIM(keys), ARR_DIMS(keys));

	asked->probe = probe_of(fcinfo);
	asked->datum = PG_GETARG_DATUM(0);
	asked->header = GpuMayLookup(count) && FilterOpenStored(&asked->view, asked->datum);
	asked->filter = asked->header ? &asked->view : probed_filter(asked->probe, asked->datum);
	asked->batch.array = keys;
}

/* Read the keys of the array. */
static const KeyBatch *
read_keys(Asked *asked, FunctionCallInfo fcinfo)
{
	KeyProbeArray(&asked->probe->keys, fcinfo, KEY_ARGUMENT, &asked->filter->keys,
				  FilterKeyHolder(asked->filter), &asked->batch);
	return &asked->batch;
}

/* Return the whole filter, and read it if only its header was open. */
static const qf_filter *
whole(Asked *asked)
{
	if (asked->header)
		asked->filter = probed_filter(asked->probe, asked->datum);
	asked->header = false;
	return asked->filter;
}

/* Set the name under which a device may cache the filter; false: the filter has no name. */
static bool
name_of(const Asked *asked, StoredName *name)
{
	const qf_filter *read = &asked->probe->reader.view;

	if (asked->header)
		return GpuNameStored(&gpu_stored_filters, asked->datum, name);
	if (asked->filter != read)
		return false;
	if (read->encoding == QF_ENCODING_COMPACT)
		GpuNameBytes(&gpu_stored_filters, read->compact - QF_HEADER_BYTES,
					 QF_HEADER_BYTES + read->compact_bytes, name);
	else
		GpuNameBytes(&gpu_stored_filters, read->bits - QF_HEADER_BYTES,
					 qf_dense_size(&read->params), name);
	return true;
}

/* Return the whole filter.  A compact filter is replaced by a copy that is not compact. */
static const qf_filter *
with_bits(Asked *asked)
{
	const qf_filter *filter = whole(asked);

	if (filter->encoding == QF_ENCODING_COMPACT)
		asked->filter = &FilterCopy(CurrentMemoryContext, filter)->filter;
	return asked->filter;
}

/*
 * Return the whole filter, for looking up this many keys on the CPU.  For many keys, a compact
 * filter is replaced by a copy, because searching the compact bytes for each position would take
 * longer than making the copy.
 */
static const qf_filter *
for_keys(Asked *asked, int keys)
{
	const qf_filter *filter = whole(asked);
	uint64 ranges = filter->params.layout == QF_BLOCKED ? 1 : filter->params.k;

	if (ranges * (uint64) keys < (filter->ones + qf_words(&filter->params)) / RANGE_COST)
		return filter;
	return with_bits(asked);
}

/* Look up all keys on a device; false: no device has looked them up. */
static bool
ask_device(Asked *asked, GpuFilterOp op, void *answer)
{
	const KeyBatch *batch = &asked->batch;
	GpuLookup lookup = { .stored = &gpu_stored_filters,
						 .op = op,
						 .key = batch->fingerprint,
						 .count = batch->count,
						 .answer = answer,
						 .answer_bytes = GpuFilterAnswerBytes(op) };
	StoredName name;
	bool named;

	if (!GpuFilterWantsLookup(asked->filter, batch->count))
		return false;
	named = name_of(asked, &name);
	if (named && GpuLookupCached(&lookup, &name))
		return true;
	return GpuLookupLoaded(&lookup, with_bits(asked), named ? &name : NULL);
}

/*
 * Look up each key on the CPU.  If "set" is not NULL, write each key's number of set positions to
 * "set".  If "set" is NULL, write to "found" whether all positions of the key are set.
 */
static void
ask_here(const qf_filter *filter, const KeyBatch *batch, uint32 *set, bool *found)
{
	int at_once = (int) qf_keys_at_once(&filter->params);
	int i;

	for (i = 0; i < batch->count; i += at_once)
	{
		int count = Min(batch->count - i, at_once);

		CHECK_FOR_INTERRUPTS();
		if (set)
			qf_engine_cpu.query(filter, batch->fingerprint + i, count, set + i);
		else
			qf_engine_cpu.contains(filter, batch->fingerprint + i, count, found + i);
	}
}

/* qfilter_estimate(qfilter, key[], method): an array of estimates, with NULL for a NULL key. */
PG_FUNCTION_INFO_V1(qfilter_estimate_array);
Datum
qfilter_estimate_array(PG_FUNCTION_ARGS)
{
	FilterMethod method = method_argument(fcinfo, METHOD_ARGUMENT);
	const KeyBatch *batch;
	qf_scale scale;
	Datum *estimate;
	int64 *answer;
	uint32 *set;
	Asked asked;
	int i;

	ask(&asked, fcinfo);
	make_scale(asked.filter, method, &scale);
	batch = read_keys(&asked, fcinfo);
	set = KeyBatchAlloc(batch->count, sizeof(uint32));
	answer = KeyBatchAlloc(batch->count, sizeof(int64));
	if (ask_device(&asked, FILTER_QUERY, answer))
		for (i = 0; i < batch->count; i++)
			set[i] = (uint32) answer[i];
	else
		ask_here(for_keys(&asked, batch->count), batch, set, NULL);
	estimate = KeyBatchAlloc(batch->count, sizeof(Datum));
	for (i = 0; i < batch->count; i++)
		estimate[i] = Float8GetDatum(estimate_of(&scale, method, set[i]));
	return KeyBatchAnswers(batch, estimate, FLOAT8OID);
}

/* qfilter_contains(qfilter, key[]): an array of answers, with NULL for a NULL key. */
PG_FUNCTION_INFO_V1(qfilter_contains_array);
Datum
qfilter_contains_array(PG_FUNCTION_ARGS)
{
	const KeyBatch *batch;
	Datum *answer;
	bool *found;
	Asked asked;
	int i;

	ask(&asked, fcinfo);
	batch = read_keys(&asked, fcinfo);
	found = KeyBatchAlloc(batch->count, sizeof(bool));
	if (!ask_device(&asked, FILTER_CONTAINS, found))
		ask_here(for_keys(&asked, batch->count), batch, NULL, found);
	answer = KeyBatchAlloc(batch->count, sizeof(Datum));
	for (i = 0; i < batch->count; i++)
		answer[i] = BoolGetDatum(found[i]);
	return KeyBatchAnswers(batch, answer, BOOLOID);
}
