/*
 * estimate.c
 *		qsketch_estimate: how often did these keys occur?
 *
 * src/pg/estimate.c
 */
#include "pg/probe.h"

#include "catalog/pg_type_d.h"
#include "utils/array.h"

#define KEY_ARGUMENT 1

/* qsketch_estimate(qsketch, key): an upper bound of the key's total weight. */
PG_FUNCTION_INFO_V1(qsketch_estimate);
Datum
qsketch_estimate(PG_FUNCTION_ARGS)
{
	Probe *probe = ProbeOf(fcinfo);
	const qs_sketch *sketch = ProbeSketch(probe, PG_GETARG_DATUM(0));
	uint64 fingerprint;
	int64 estimate;

	if (probe->key.type == InvalidOid)
		ProbeSetKey(probe, KeyTypeOfArgument(fcinfo->flinfo, KEY_ARGUMENT), PG_GET_COLLATION());
	KeyFamilyCheckProbe(sketch, &probe->key);
	fingerprint = KeyFingerprint(&probe->key, PG_GETARG_DATUM(KEY_ARGUMENT));
	qs_engine_cpu.query(sketch, &fingerprint, 1, &estimate);
	PG_RETURN_INT64(estimate);
}

/* Fingerprints of the elements of an array; 0 for NULL ones. */
static uint64 *
fingerprints_of(const KeyType *key, const Datum *elements, const bool *nulls, int count)
{
	uint64 *fingerprint = palloc_extended(Max(count, 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	int i;

	for (i = 0; i < count; i++)
		fingerprint[i] = nulls[i] ? 0 : KeyFingerprint(key, elements[i]);
	return fingerprint;
}

/* A bigint array of the same shape. */
static ArrayType *
array_like(ArrayType *like, const int64 *estimates, bool *nulls, int count)
{
	Datum *values = palloc_extended(Max(count, 1) * sizeof(Datum), MCXT_ALLOC_HUGE);
	int i;

	for (i = 0; i < count; i++)
		values[i] = Int64GetDatum(estimates[i]);
	return construct_md_array(values, nulls, ARR_NDIM(like), ARR_DIMS(like), ARR_LBOUND(like),
							  INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

/*
 * qsketch_estimate(qsketch, key[]): one estimate for each element, NULL for
 * NULL.
 */
PG_FUNCTION_INFO_V1(qsketch_estimate_array);
Datum
qsketch_estimate_array(PG_FUNCTION_ARGS)
{
	Probe *probe = ProbeOf(fcinfo);
	const qs_sketch *sketch = ProbeSketch(probe, PG_GETARG_DATUM(0));
	ArrayType *keys = PG_GETARG_ARRAYTYPE_P(KEY_ARGUMENT);
	Datum *elements;
	bool *nulls;
	int count;
	int64 *estimates;

	ProbeSetKey(probe, ARR_ELEMTYPE(keys), PG_GET_COLLATION());
	KeyFamilyCheckProbe(sketch, &probe->key);
	deconstruct_array(keys, probe->key.type, probe->key.length, probe->key.by_value,
					  probe->key.align, &elements, &nulls, &count);
	estimates = palloc_extended(Max(count, 1) * sizeof(int64), MCXT_ALLOC_HUGE);
	qs_engine_cpu.query(sketch, fingerprints_of(&probe->key, elements, nulls, count), count,
						estimates);
	PG_RETURN_ARRAYTYPE_P(array_like(keys, estimates, nulls, count));
}
