/*
 * filter_batch.c
 *		Looking up batches of keys: qfilter_estimate and qfilter_contains of arrays.
 *
 * A batch goes to the GPU if qsketch.device says so.  A stored filter stays there for
 * the next batch, like a sketch (sketch_batch.c).  It is recognized by its header and
 * toast pointer, so nothing else of it is read here.
 *
 * src/pg/filter_batch.c
 */
#include "pg/filter_probe.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "gpu/filter_gpu.h"

#define KEYS_ARGUMENT   1
#define METHOD_ARGUMENT 2

/* In a compact filter, a part takes as long as so many bits, or words of zeros, of a copy. */
#define PART_COST 16

/* The filter of a row, or only its header, and the keys that it is asked about. */
typedef struct Asked
{
	FilterProbe *probe;
	Datum datum;
	const qf_filter *filter;
	bool header; /* "filter" is "view", which has only the header */
	qf_filter view;
	KeyBatch batch;
} Asked;

/* Open the filter of a row: only its header if it is stored, and a device may have a copy. */
static void
ask(Asked *asked, FunctionCallInfo fcinfo)
{
	ArrayType *keys = PG_GETARG_ARRAYTYPE_P(KEYS_ARGUMENT);
	int count = ArrayGetNItems(ARR_NDIM(keys), ARR_DIMS(keys));

	asked->probe = FilterProbeOf(fcinfo);
	asked->datum = PG_GETARG_DATUM(0);
	asked->header = GpuMayLookup(count) && FilterOpenStored(&asked->view, asked->datum);
	asked->filter = asked->header ? &asked->view : FilterProbed(asked->probe, asked->datum);
	asked->batch.array = keys;
}

/* Read the keys. */
static const KeyBatch *
read_keys(Asked *asked, FunctionCallInfo fcinfo)
{
	KeyProbeArray(&asked->probe->keys, fcinfo, KEYS_ARGUMENT, &asked->filter->keys,
				  FilterKeyHolder(asked->filter), &asked->batch);
	return &asked->batch;
}

/* The whole filter. */
static const qf_filter *
whole(Asked *asked)
{
	if (asked->header)
		asked->filter = FilterProbed(asked->probe, asked->datum);
	asked->header = false;
	return asked->filter;
}

/* The name under which a device keeps the filter; false: it has none. */
static bool
name_of(const Asked *asked, StoredName *name)
{
	const qf_filter *read = &asked->probe->reader.view;

	if (asked->header)
		return GpuNameStored(&gpu_stored_filters, asked->datum, name);
	if (asked->filter != read)
		return false;
	if (read->form == QF_FORM_COMPACT)
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

	if (filter->form == QF_FORM_COMPACT)
		asked->filter = &FilterCopy(CurrentMemoryContext, filter)->filter;
	return asked->filter;
}

/*
 * The whole filter, to look up so many keys on the CPU.  Bits are made of a compact one
 * if that takes less time than finding each position in its group.
 */
static const qf_filter *
for_keys(Asked *asked, int keys)
{
	const qf_filter *filter = whole(asked);
	uint64 parts = filter->params.layout == QF_BLOCKED ? 1 : filter->params.k;

	if (parts * (uint64) keys < (filter->ones + qf_words(&filter->params)) / PART_COST)
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

/* Count the set positions of each key on the CPU. */
static void
query_here(const qf_filter *filter, const KeyBatch *batch, uint32 *set)
{
	int at_once = (int) qf_keys_at_once(&filter->params);
	int i;

	for (i = 0; i < batch->count; i += at_once)
	{
		CHECK_FOR_INTERRUPTS();
		qf_engine_cpu.query(filter, batch->fingerprint + i, Min(batch->count - i, at_once),
							set + i);
	}
}

/* Find out on the CPU which keys the filter contains. */
static void
find_here(const qf_filter *filter, const KeyBatch *batch, bool *found)
{
	int at_once = (int) qf_keys_at_once(&filter->params);
	int i;

	for (i = 0; i < batch->count; i += at_once)
	{
		CHECK_FOR_INTERRUPTS();
		qf_engine_cpu.contains(filter, batch->fingerprint + i, Min(batch->count - i, at_once),
							   found + i);
	}
}

/* qfilter_estimate(qfilter, key[], method): one estimate for each element, NULL for NULL. */
PG_FUNCTION_INFO_V1(qfilter_estimate_array);
Datum
qfilter_estimate_array(PG_FUNCTION_ARGS)
{
	FilterMethod method = FilterMethodArgument(fcinfo, METHOD_ARGUMENT);
	const KeyBatch *batch;
	qf_scale scale;
	Datum *estimate;
	int64 *answer;
	uint32 *set;
	Asked asked;
	int i;

	ask(&asked, fcinfo);
	FilterScale(asked.filter, method, &scale);
	batch = read_keys(&asked, fcinfo);
	set = KeyBatchAlloc(batch->count, sizeof(uint32));
	answer = KeyBatchAlloc(batch->count, sizeof(int64));
	if (ask_device(&asked, FILTER_QUERY, answer))
		for (i = 0; i < batch->count; i++)
			set[i] = (uint32) answer[i];
	else
		query_here(for_keys(&asked, batch->count), batch, set);
	estimate = KeyBatchAlloc(batch->count, sizeof(Datum));
	for (i = 0; i < batch->count; i++)
		estimate[i] = Float8GetDatum(FilterEstimate(&scale, method, set[i]));
	return KeyBatchAnswers(batch, estimate, FLOAT8OID);
}

/* qfilter_contains(qfilter, key[]): whether each element is there, NULL for NULL. */
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
		find_here(for_keys(&asked, batch->count), batch, found);
	answer = KeyBatchAlloc(batch->count, sizeof(Datum));
	for (i = 0; i < batch->count; i++)
		answer[i] = BoolGetDatum(found[i]);
	return KeyBatchAnswers(batch, answer, BOOLOID);
}
