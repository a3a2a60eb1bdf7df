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
#include "pgbase/keyexpr.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "gpu/filter_gpu.h"
#include "utils/array.h"

#define KEYS_ARGUMENT   1
#define METHOD_ARGUMENT 2

/* Keys that are read between two checks for interrupts. */
#define KEYS_AT_ONCE 262144

typedef struct Batch
{
	bool *null;
	uint64 *fingerprint; /* 0 for NULL */
	Datum *answer;
	int count;
} Batch;

static void *
alloc_array(int count, Size size)
{
	return palloc_extended(Max(count, 1) * size, MCXT_ALLOC_HUGE);
}

/* Read the keys of an array, for a filter. */
static void
read_keys(FunctionCallInfo fcinfo, FilterProbe *probe, const qf_filter *filter, ArrayType *keys,
		  Batch *batch)
{
	KeyType *type = &probe->key;
	Datum *key;
	int i;

	FilterProbeSetKey(probe, ARR_ELEMTYPE(keys), PG_GET_COLLATION());
	probe->literal = type->type == TEXTOID && KeyIsLiteral(fcinfo, KEYS_ARGUMENT);
	deconstruct_array(keys, type->type, type->length, type->by_value, type->align, &key,
					  &batch->null, &batch->count);
	if (KeyTypeLearnArray(type, key, batch->null, batch->count) && !probe->literal)
		KeyFamilyCheckProbe(&filter->keys, type, FilterKeyHolder(filter));
	batch->fingerprint = alloc_array(batch->count, sizeof(uint64));
	batch->answer = alloc_array(batch->count, sizeof(Datum));
	for (i = 0; i < batch->count; i++)
	{
		if (i % KEYS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		batch->fingerprint[i] = batch->null[i] ? 0 : FilterFingerprint(probe, filter, key[i]);
	}
}

/* An array of answers with the same dimensions as the array of keys. */
static Datum
answers(ArrayType *like, const Batch *batch, Oid type)
{
	bool floats = type == FLOAT8OID;

	PG_RETURN_ARRAYTYPE_P(construct_md_array(
		batch->answer, batch->null, ARR_NDIM(like), ARR_DIMS(like), ARR_LBOUND(like), type,
		floats ? sizeof(float8) : sizeof(bool), floats ? FLOAT8PASSBYVAL : true,
		floats ? TYPALIGN_DOUBLE : TYPALIGN_CHAR));
}

/* The filter of a row, or only its header. */
typedef struct Asked
{
	FilterProbe *probe;
	Datum datum;
	const qf_filter *filter;
	bool header; /* "filter" is "view", which has only the header */
	qf_filter view;
} Asked;

/* Open the filter of a row: only its header if it is stored, and a device may have a copy. */
static void
ask(Asked *asked, FilterProbe *probe, Datum datum, ArrayType *keys)
{
	int count = ArrayGetNItems(ARR_NDIM(keys), ARR_DIMS(keys));

	asked->probe = probe;
	asked->datum = datum;
	asked->header = GpuMayLookup(count) && FilterOpenStored(&asked->view, datum);
	asked->filter = asked->header ? &asked->view : FilterProbed(probe, datum);
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
	GpuNameBytes(&gpu_stored_filters, read->bits - QF_HEADER_BYTES, qf_dense_size(&read->params),
				 name);
	return true;
}

/* Ask a device for all keys; false if it does not answer. */
static bool
ask_device(Asked *asked, GpuFilterOp op, const Batch *batch, void *answer)
{
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
	return GpuLookupLoaded(&lookup, whole(asked), named ? &name : NULL);
}

/* Count the set positions of each key on the CPU. */
static void
query_here(const qf_filter *filter, const Batch *batch, uint32 *set)
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
find_here(const qf_filter *filter, const Batch *batch, bool *found)
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
	ArrayType *keys = PG_GETARG_ARRAYTYPE_P(KEYS_ARGUMENT);
	FilterMethod method = FilterMethodArgument(fcinfo, METHOD_ARGUMENT);
	FilterProbe *probe = FilterProbeOf(fcinfo);
	qf_scale scale;
	uint32 *set;
	int64 *answer;
	Batch batch;
	Asked asked;
	int i;

	ask(&asked, probe, PG_GETARG_DATUM(0), keys);
	FilterScale(asked.filter, method, &scale);
	read_keys(fcinfo, probe, asked.filter, keys, &batch);
	set = alloc_array(batch.count, sizeof(uint32));
	answer = alloc_array(batch.count, sizeof(int64));
	if (ask_device(&asked, FILTER_QUERY, &batch, answer))
		for (i = 0; i < batch.count; i++)
			set[i] = (uint32) answer[i];
	else
		query_here(whole(&asked), &batch, set);
	for (i = 0; i < batch.count; i++)
		batch.answer[i] = Float8GetDatum(FilterEstimate(&scale, method, set[i]));
	return answers(keys, &batch, FLOAT8OID);
}

/* qfilter_contains(qfilter, key[]): whether each element is there, NULL for NULL. */
PG_FUNCTION_INFO_V1(qfilter_contains_array);
Datum
qfilter_contains_array(PG_FUNCTION_ARGS)
{
	ArrayType *keys = PG_GETARG_ARRAYTYPE_P(KEYS_ARGUMENT);
	FilterProbe *probe = FilterProbeOf(fcinfo);
	bool *found;
	Batch batch;
	Asked asked;
	int i;

	ask(&asked, probe, PG_GETARG_DATUM(0), keys);
	read_keys(fcinfo, probe, asked.filter, keys, &batch);
	found = alloc_array(batch.count, sizeof(bool));
	if (!ask_device(&asked, FILTER_CONTAINS, &batch, found))
		find_here(whole(&asked), &batch, found);
	for (i = 0; i < batch.count; i++)
		batch.answer[i] = BoolGetDatum(found[i]);
	return answers(keys, &batch, BOOLOID);
}
