/*
 * sketch_batch.c
 *		Looking up batches of keys: qsketch_estimate of arrays, qsketch_lookup.
 *
 * A batch goes to the GPU if qsketch.device says so.  A stored sketch stays there for
 * the next batch.  It is recognized by its header and toast pointer, so nothing else of
 * it is read here.
 *
 * src/pg/sketch_batch.c
 */
#include "pgbase/keyexpr.h"
#include "pgbase/row.h"
#include "pg/sketch_probe.h"

#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "gpu/sketch_gpu.h"
#include "utils/array.h"
#include "utils/tuplestore.h"

#define KEYS_ARGUMENT 1

/* Keys between two checks for interrupts.  Each key has up to QS_DEPTH_MAX counters. */
#define KEYS_AT_ONCE 32768

typedef struct Batch
{
	Datum *key;
	bool *null;
	uint64 *fingerprint; /* 0 for NULL */
	int64 *estimate;
	int count;
} Batch;

static void *
alloc_array(int count, Size size)
{
	return palloc_extended(Max(count, 1) * size, MCXT_ALLOC_HUGE);
}

/* Read the keys of an array.  The probe knows their type. */
static void
read_keys(Probe *probe, const qs_sketch *sketch, ArrayType *keys, Batch *batch)
{
	KeyType *type = &probe->key;
	int i;

	deconstruct_array(keys, type->type, type->length, type->by_value, type->align, &batch->key,
					  &batch->null, &batch->count);
	if (KeyTypeLearnArray(type, batch->key, batch->null, batch->count) && !probe->literal)
		KeyFamilyCheckProbe(&sketch->keys, type, &sketch_key_holder);
	batch->fingerprint = alloc_array(batch->count, sizeof(uint64));
	batch->estimate = alloc_array(batch->count, sizeof(int64));
	for (i = 0; i < batch->count; i++)
	{
		if (i % KEYS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		batch->fingerprint[i] = batch->null[i] ? 0 : ProbeFingerprint(probe, sketch, batch->key[i]);
	}
}

/* Look up the keys on the CPU. */
static void
query(const qs_sketch *sketch, Batch *batch)
{
	int i;

	for (i = 0; i < batch->count; i += KEYS_AT_ONCE)
	{
		CHECK_FOR_INTERRUPTS();
		qs_query(sketch, batch->fingerprint + i, Min(batch->count - i, KEYS_AT_ONCE),
				 batch->estimate + i);
	}
}

/* The batch as a question to a device. */
static GpuLookup
lookup_of(const Batch *batch)
{
	return (GpuLookup){ .stored = &gpu_stored_sketches,
						.op = SKETCH_QUERY,
						.key = batch->fingerprint,
						.count = batch->count,
						.answer = batch->estimate,
						.answer_bytes = sizeof(int64) };
}

/* Look up in the copy on a device of a sketch stored out of line. */
static bool
lookup_stored(Datum datum, const qs_sketch *view, StoredName *key, Batch *batch)
{
	GpuLookup lookup = lookup_of(batch);

	return GpuSketchWantsLookup(view, batch->count) &&
		   GpuNameStored(&gpu_stored_sketches, datum, key) && GpuLookupCached(&lookup, key);
}

/* The name of a sketch that was read as a whole; false if it has no bytes. */
static bool
name_flat(const Probe *probe, Datum datum, StoredName *key)
{
	const uint8 *bytes = probe->reader.header;

	if (bytes == NULL || VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		return false;
	GpuNameBytes(&gpu_stored_sketches, bytes, VARSIZE(bytes - VARHDRSZ) - VARHDRSZ, key);
	return true;
}

/* Look up the keys on a device, in a sketch that was read; false: the device does not do it. */
static bool
lookup_read(const qs_sketch *sketch, StoredName *key, bool cached, Batch *batch)
{
	GpuLookup lookup = lookup_of(batch);

	if (cached && GpuLookupCached(&lookup, key))
		return true;
	return GpuLookupLoaded(&lookup, sketch, key);
}

/* Estimate all keys of an array. */
static void
estimate_batch(FunctionCallInfo fcinfo, ArrayType *keys, Batch *batch)
{
	Probe *probe = ProbeOf(fcinfo);
	Datum datum = PG_GETARG_DATUM(0);
	qs_sketch view;
	bool stored = SketchOpenStored(&view, datum);
	const qs_sketch *sketch = stored ? &view : ProbeSketch(probe, datum);
	StoredName key;
	bool named;

	ProbeSetKey(probe, ARR_ELEMTYPE(keys), PG_GET_COLLATION());
	probe->literal = probe->key.type == TEXTOID && KeyIsLiteral(fcinfo, KEYS_ARGUMENT);
	read_keys(probe, sketch, keys, batch);
	if (stored && lookup_stored(datum, &view, &key, batch))
		return;
	if (stored)
		sketch = ProbeSketch(probe, datum);
	if (GpuSketchWantsLookup(sketch, batch->count))
	{
		named = !stored && name_flat(probe, datum, &key);
		if (lookup_read(sketch, stored || named ? &key : NULL, named, batch))
			return;
	}
	query(sketch, batch);
}

/* A bigint array with the same dimensions. */
static ArrayType *
array_like(ArrayType *like, const Batch *batch)
{
	Datum *values = alloc_array(batch->count, sizeof(Datum));
	int i;

	for (i = 0; i < batch->count; i++)
		values[i] = Int64GetDatum(batch->estimate[i]);
	return construct_md_array(values, batch->null, ARR_NDIM(like), ARR_DIMS(like), ARR_LBOUND(like),
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
	ArrayType *keys = PG_GETARG_ARRAYTYPE_P(KEYS_ARGUMENT);
	Batch batch;

	estimate_batch(fcinfo, keys, &batch);
	PG_RETURN_ARRAYTYPE_P(array_like(keys, &batch));
}

/* qsketch_lookup(qsketch, key[]): rows of key and estimate. */
PG_FUNCTION_INFO_V1(qsketch_lookup);
Datum
qsketch_lookup(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Batch batch;
	int i;

	estimate_batch(fcinfo, PG_GETARG_ARRAYTYPE_P(KEYS_ARGUMENT), &batch);
	ReturnRows(fcinfo);
	for (i = 0; i < batch.count; i++)
	{
		Datum values[2] = { batch.key[i], Int64GetDatum(batch.estimate[i]) };
		bool nulls[2] = { batch.null[i], batch.null[i] };

		if (i % KEYS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	PG_RETURN_NULL();
}
