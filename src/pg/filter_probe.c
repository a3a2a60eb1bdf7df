/*
 * filter_probe.c
 *		qfilter_estimate, qfilter_bounds and qfilter_contains, of a key and of arrays
 *		of keys; and what they keep from row to row.
 *
 * A query that looks up many keys in stored filters must fetch each filter only once,
 * even if a join brings it again with each row.  So copies of filters that come again
 * are kept, as far as there is room (stored.h).  A query that looks up one key in many
 * stored filters should not fetch them as a whole: a blocked Bloom filter has the key's
 * bits in one block, and in a large filter the key's positions are few.
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
	FilterState *copy; /* NULL: no copy is kept */
	Size room;         /* bytes that a copy takes; 0: not known yet */
} StoredFilter;

/*
 * What a calling expression keeps in its fn_extra: the type of the keys, and the filters that are
 * stored out of line.  The first row with a stored filter reads ranges of it, or keeps a copy if
 * there is room.  The second row keeps a copy even in place of others.
 */
typedef struct FilterProbe
{
	KeyProbe keys;       /* the type of the rows' keys */
	FilterReader reader; /* reads the filter of the current row */

	StoredCache filters;  /* its values are StoredFilters */
	StoredFilter *stored; /* the filter of the current row, or NULL if it is not stored */
} FilterProbe;

/* Which estimate of a frequency is wanted. */
typedef enum FilterMethod
{
	FILTER_CORRECTED, /* right on average, but not below 0 */
	FILTER_UNBIASED,  /* as FILTER_CORRECTED, but may be below 0 */
	FILTER_PAPER      /* as in the paper, for comparison */
} FilterMethod;

/* Make the probe of a calling expression, at its first call. */
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
 * Fetching one range of a filter takes as long as fetching this many chunks with the whole value
 * (measured with 1 MB: 5 to 8).
 */
#define CHUNKS_PER_RANGE 8

static bool
ranges_pay(const qf_filter *view, Size bytes)
{
	uint64 ranges = view->params.layout == QF_BLOCKED ? 1 : view->params.k;

	if (view->encoding == QF_ENCODING_COMPACT)
		ranges *= 2; /* where the data are, and the data */
	return ranges * CHUNKS_PER_RANGE < bytes / TOAST_MAX_CHUNK_SIZE;
}

/* Bytes of a set bit in a copy's list, which is a hash table. */
#define LIST_BYTES (4 * sizeof(uint32))

/* The bytes that a copy of the filter takes.  A compact filter itself takes fewer bytes. */
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

/* True if a copy of the filter of this row may be kept. */
static bool
has_room(FilterProbe *probe, Datum datum)
{
	StoredFilter *stored = probe->stored;

	if (stored->room == 0)
		stored->room = room_of(stored, datum);
	return StoredMayKeep(&probe->filters, &stored->stored, stored->room);
}

/*
 * True for a stored filter without a copy that is better read by ranges.  Its header is then opened,
 * and ranges_set() reads the ranges.  False: whole_filter() must follow.
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
 * The number of a key's positions that are set in a filter that is read by ranges.  "all": the
 * caller only asks whether all positions are set, so reading stops at the first one that is not.
 */
static uint32
ranges_set(Datum datum, const qf_filter *view, uint64 fingerprint, bool all)
{
	qf_source source = { .read = read_range, .context = &datum };

	return qf_count_stored(view, qf_hash(fingerprint, view->seed_key), all, &source);
}

/* Keep a copy of the filter that was read. */
static void
keep_copy(FilterProbe *probe, StoredFilter *stored)
{
	stored->copy = NULL;
	MemoryContextReset(stored->stored.context);
	stored->copy = FilterCopy(stored->stored.context, probe->reader.filter);
	StoredKept(&probe->filters, &stored->stored);
	FilterReadEnd(&probe->reader);
}

/* The whole filter of this row.  Call it after in_ranges() has returned false. */
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

/* The filter of this row, for reading; valid until the row ends. */
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
 * Prepare what all estimates from a filter use.  Raises an error for a filter that gives no such
 * estimates.
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
 * The estimate for a key of which "set" positions are set.  If all positions are set, it is
 * infinite: a finite number meaning "this often or more" would be ranked among the estimates of
 * other keys.
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

/* Fingerprint of the key argument, after a check that the filter holds such keys. */
static uint64
key_argument(FunctionCallInfo fcinfo, FilterProbe *probe, const qf_filter *filter)
{
	return KeyProbeArgument(&probe->keys, fcinfo, KEY_ARGUMENT, &filter->keys,
							FilterKeyHolder(filter));
}

/*
 * The number of the key argument's positions that are set.  *scale is prepared for estimates from
 * its filter.
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

/* qfilter_estimate(qfilter, key, method): about how often the key came. */
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
 * A batch goes to the GPU if qsketch.device says so.  A stored filter stays on the GPU for the next
 * batch, like a sketch (sketch_probe.c).  The GPU's copy is recognized by the filter's header and
 * toast pointer, so this process reads nothing else of the filter.
 */

/*
 * Reading one range of a compact filter takes as long as making this many bits of a copy, or this
 * many words of zeros.
 */
#define RANGE_COST 16

/* The filter of a row, or only its header, and the keys to look up in it. */
typedef struct Asked
{
	FilterProbe *probe;
	Datum datum;
	const qf_filter *filter;
	bool header; /* "filter" is "view", which has only the header */
	qf_filter view;
	KeyBatch batch;
} Asked;

/*
 * Open the filter of a row.  Only its header is opened if the filter is stored and a device may
 * have it cached.
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

/* The whole filter, which is read now if only its header was open. */
static const qf_filter *
whole(Asked *asked)
{
	if (asked->header)
		asked->filter = probed_filter(asked->probe, asked->datum);
	asked->header = false;
	return asked->filter;
}

/* The name under which a device keeps the filter; false: the filter has no name. */
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

/* The whole filter, with its bits in memory. */
static const qf_filter *
with_bits(Asked *asked)
{
	const qf_filter *filter = whole(asked);

	if (filter->encoding == QF_ENCODING_COMPACT)
		asked->filter = &FilterCopy(CurrentMemoryContext, filter)->filter;
	return asked->filter;
}

/*
 * The whole filter, for looking up this many keys on the CPU.  A compact filter gets its bits in
 * memory if making them takes less time than finding each position in its group.
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

/* Ask a device for all keys; false if it does not answer. */
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
 * Look up each key on the CPU.  "set" gets the number of its positions that are set.  If "set" is
 * NULL, "found" gets whether all positions are set.
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

/* qfilter_estimate(qfilter, key[], method): one estimate for each element, NULL for NULL. */
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

/* qfilter_contains(qfilter, key[]): for each element whether all its positions are set, NULL for NULL. */
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
