/*
 * filter_batch.c
 *		Looking up batches of keys: pbf_estimate and pbf_contains of arrays.
 *
 * src/pg/filter_batch.c
 */
#include "pg/filter_probe.h"
#include "pg/keyexpr.h"

#include "catalog/pg_type_d.h"
#include "utils/array.h"

#define KEYS_ARGUMENT   1
#define METHOD_ARGUMENT 2

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

/* Keys of an array, for a filter. */
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
		batch->fingerprint[i] = batch->null[i] ? 0 : FilterFingerprint(probe, filter, key[i]);
}

/* An array of answers of the same shape as that of the keys. */
static Datum
answers(ArrayType *like, const Batch *batch, Oid type)
{
	bool floats = type == FLOAT8OID;

	PG_RETURN_ARRAYTYPE_P(construct_md_array(
		batch->answer, batch->null, ARR_NDIM(like), ARR_DIMS(like), ARR_LBOUND(like), type,
		floats ? sizeof(float8) : sizeof(bool), floats ? FLOAT8PASSBYVAL : true,
		floats ? TYPALIGN_DOUBLE : TYPALIGN_CHAR));
}

/* pbf_estimate(pbf, key[], method): one estimate for each element, NULL for NULL. */
PG_FUNCTION_INFO_V1(pbf_estimate_array);
Datum
pbf_estimate_array(PG_FUNCTION_ARGS)
{
	ArrayType *keys = PG_GETARG_ARRAYTYPE_P(KEYS_ARGUMENT);
	FilterMethod method = FilterMethodArgument(fcinfo, METHOD_ARGUMENT);
	FilterProbe *probe = FilterProbeOf(fcinfo);
	const qf_filter *filter = FilterProbed(probe, PG_GETARG_DATUM(0));
	qf_scale scale;
	uint32 *set;
	Batch batch;
	int i;

	FilterScale(filter, method, &scale);
	read_keys(fcinfo, probe, filter, keys, &batch);
	set = alloc_array(batch.count, sizeof(uint32));
	qf_engine_cpu.query(filter, batch.fingerprint, batch.count, set);
	for (i = 0; i < batch.count; i++)
		batch.answer[i] = Float8GetDatum(FilterEstimate(&scale, method, set[i]));
	return answers(keys, &batch, FLOAT8OID);
}

/* pbf_contains(pbf, key[]): likewise, whether it is there. */
PG_FUNCTION_INFO_V1(pbf_contains_array);
Datum
pbf_contains_array(PG_FUNCTION_ARGS)
{
	ArrayType *keys = PG_GETARG_ARRAYTYPE_P(KEYS_ARGUMENT);
	FilterProbe *probe = FilterProbeOf(fcinfo);
	const qf_filter *filter = FilterProbed(probe, PG_GETARG_DATUM(0));
	bool *found;
	Batch batch;
	int i;

	read_keys(fcinfo, probe, filter, keys, &batch);
	found = alloc_array(batch.count, sizeof(bool));
	qf_engine_cpu.contains(filter, batch.fingerprint, batch.count, found);
	for (i = 0; i < batch.count; i++)
		batch.answer[i] = BoolGetDatum(found[i]);
	return answers(keys, &batch, BOOLOID);
}
