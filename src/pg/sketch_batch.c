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
#include "pgbase/row.h"
#include "pg/sketch_probe.h"

#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "gpu/sketch_gpu.h"
#include "utils/tuplestore.h"

#define KEYS_ARGUMENT 1

/* Keys between two checks for interrupts.  Each key has up to QS_DEPTH_MAX counters. */
#define KEYS_AT_ONCE 32768

typedef struct Batch
{
	KeyBatch keys;
	int64 *estimate;
} Batch;

/* Look up the keys on the CPU. */
static void
query(const qs_sketch *sketch, Batch *batch)
{
	int i;

	for (i = 0; i < batch->keys.count; i += KEYS_AT_ONCE)
	{
		CHECK_FOR_INTERRUPTS();
		qs_query(sketch, batch->keys.fingerprint + i, Min(batch->keys.count - i, KEYS_AT_ONCE),
				 batch->estimate + i);
	}
}

/* The batch as a question to a device. */
static GpuLookup
lookup_of(const Batch *batch)
{
	return (GpuLookup){ .stored = &gpu_stored_sketches,
						.op = SKETCH_QUERY,
						.key = batch->keys.fingerprint,
						.count = batch->keys.count,
						.answer = batch->estimate,
						.answer_bytes = sizeof(int64) };
}

/* Look up in the copy on a device of a sketch stored out of line. */
static bool
lookup_stored(Datum datum, const qs_sketch *view, StoredName *key, Batch *batch)
{
	GpuLookup lookup = lookup_of(batch);

	return GpuSketchWantsLookup(view, batch->keys.count) &&
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
estimate_batch(FunctionCallInfo fcinfo, Batch *batch)
{
	Probe *probe = ProbeOf(fcinfo);
	Datum datum = PG_GETARG_DATUM(0);
	qs_sketch view;
	bool stored = SketchOpenStored(&view, datum);
	const qs_sketch *there = stored ? NULL : SketchStaying(datum);
	const qs_sketch *sketch = stored ? &view : there ? there : ProbeSketch(probe, datum);
	StoredName key;
	bool named;

	batch->keys.array = PG_GETARG_ARRAYTYPE_P(KEYS_ARGUMENT);
	KeyProbeArray(&probe->keys, fcinfo, KEYS_ARGUMENT, &sketch->keys, &sketch_key_holder,
				  &batch->keys);
	batch->estimate = KeyBatchAlloc(batch->keys.count, sizeof(int64));
	if (stored && lookup_stored(datum, &view, &key, batch))
		return;
	if (there && GpuSketchAsk(there, batch->keys.fingerprint, batch->keys.count, batch->estimate))
		return;
	if (stored || there)
		sketch = ProbeSketch(probe, datum);
	if (GpuSketchWantsLookup(sketch, batch->keys.count))
	{
		named = !stored && name_flat(probe, datum, &key);
		if (lookup_read(sketch, stored || named ? &key : NULL, named, batch))
			return;
	}
	query(sketch, batch);
}

/*
 * qsketch_estimate(qsketch, key[]): one estimate for each element, NULL for
 * NULL.
 */
PG_FUNCTION_INFO_V1(qsketch_estimate_array);
Datum
qsketch_estimate_array(PG_FUNCTION_ARGS)
{
	Batch batch;
	Datum *answer;
	int i;

	estimate_batch(fcinfo, &batch);
	answer = KeyBatchAlloc(batch.keys.count, sizeof(Datum));
	for (i = 0; i < batch.keys.count; i++)
		answer[i] = Int64GetDatum(batch.estimate[i]);
	return KeyBatchAnswers(&batch.keys, answer, INT8OID);
}

/* qsketch_lookup(qsketch, key[]): rows of key and estimate. */
PG_FUNCTION_INFO_V1(qsketch_lookup);
Datum
qsketch_lookup(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Batch batch;
	int i;

	estimate_batch(fcinfo, &batch);
	ReturnRows(fcinfo);
	for (i = 0; i < batch.keys.count; i++)
	{
		Datum values[2] = { batch.keys.key[i], Int64GetDatum(batch.estimate[i]) };
		bool nulls[2] = { batch.keys.null[i], batch.keys.null[i] };

		if (i % KEYS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	PG_RETURN_NULL();
}
