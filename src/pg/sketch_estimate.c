/*
 * sketch_estimate.c
 *		How often did these keys occur?  qsketch_estimate, also of arrays, qsketch_lookup,
 *		qsketch_error and qsketch_bounds.
 *
 * src/pg/sketch_estimate.c
 */
#include "pg/sketch_probe.h"

#include "catalog/pg_type_d.h"
#include "gpu/sketch_gpu.h"
#include "miscadmin.h"
#include "pgbase/value.h"
#include "sketch/unbiased.h"

#define KEY_ARGUMENT 1

/* Fingerprint of the key argument, after a check that the sketch holds such keys. */
static uint64
key_argument(FunctionCallInfo fcinfo, Probe *probe, const qs_sketch *sketch)
{
	return KeyProbeArgument(&probe->keys, fcinfo, KEY_ARGUMENT, &sketch->keys, &sketch_key_holder);
}

/*
 * Estimate from a sketch without a copy.  If the sketch is stored out of line and comes
 * again, it is copied, if there is room.
 */
static pg_noinline int64
estimate_not_kept(FunctionCallInfo fcinfo, Probe *probe, StoredSketch *stored)
{
	Datum datum = PG_GETARG_DATUM(0);
	const qs_sketch *sketch = NULL;

	if (stored && !(StoredAgain(&stored->stored) && ProbeHasRoom(probe, stored, datum)))
		sketch = ProbeHeader(stored, datum);
	if (sketch)
		return ProbePieces(datum, sketch, key_argument(fcinfo, probe, sketch));
	sketch = stored ? ProbeRead(probe, stored, datum) : ProbeSketchAsStored(probe, datum);
	return qs_estimate(sketch, key_argument(fcinfo, probe, sketch));
}

/*
 * qsketch_estimate(qsketch, key): an upper bound of the key's total weight.
 *
 * In a join with one stored sketch the second row makes a copy and learns the type of
 * the key; all later rows use this shortcut.  If sketches come in turns, the next
 * sketch is probably asked for the same key.
 */
PG_FUNCTION_INFO_V1(qsketch_estimate);
Datum
qsketch_estimate(PG_FUNCTION_ARGS)
{
	Probe *probe = ProbeOf(fcinfo);
	StoredSketch *stored = ProbeStored(probe, PG_GETARG_DATUM(0));
	const qs_sketch *kept;
	uint64 fingerprint;

	if (unlikely(stored == NULL || stored->copy == NULL))
		PG_RETURN_INT64(estimate_not_kept(fcinfo, probe, stored));
	kept = &stored->copy->sketch;
	fingerprint = KeyProbeFingerprint(&probe->keys, &kept->keys, &sketch_key_holder,
									  PG_GETARG_DATUM(KEY_ARGUMENT));
	ProbeGuess(stored, fingerprint);
	PG_RETURN_INT64(qs_estimate(kept, fingerprint));
}

/*
 * qsketch_estimate_unbiased(qsketch, key, clip): the estimate less the noise around the
 * key.  "clip": at least 0 and at most the estimate.
 */
PG_FUNCTION_INFO_V1(qsketch_estimate_unbiased);
Datum
qsketch_estimate_unbiased(PG_FUNCTION_ARGS)
{
	Probe *probe = ProbeOf(fcinfo);
	const qs_sketch *sketch = ProbeSketchToMeasure(probe, PG_GETARG_DATUM(0));
	uint64 fingerprint = key_argument(fcinfo, probe, sketch);
	const qs_noise *noise = qs_unbiased_needs_noise(sketch) ? ProbeNoise(probe, sketch, 1) : NULL;
	double unbiased = qs_estimate_unbiased(sketch, noise, fingerprint);

	if (PG_GETARG_BOOL(2))
		unbiased = Max(0, Min(unbiased, (double) qs_estimate(sketch, fingerprint)));
	PG_RETURN_FLOAT8(unbiased);
}

/* The argument for the number of keys that the confidence must cover at once. */
static int64
keys_argument(FunctionCallInfo fcinfo, int argument)
{
	int64 keys = PG_GETARG_INT64(argument);

	if (keys < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("keys must be at least 1, not " INT64_FORMAT, keys),
				 errhint("Give the number of distinct keys that you look up. The error then holds "
						 "for all of them together.")));
	return keys;
}

/*
 * qsketch_error(qsketch, confidence, keys): an upper limit of the overestimate, for so
 * many keys together, with this confidence.
 */
PG_FUNCTION_INFO_V1(qsketch_error);
Datum
qsketch_error(PG_FUNCTION_ARGS)
{
	Probe *probe = ProbeOf(fcinfo);
	double confidence = CheckConfidence(PG_GETARG_FLOAT8(1), true);
	int64 keys = keys_argument(fcinfo, 2);
	const qs_sketch *sketch = ProbeSketchForError(probe, PG_GETARG_DATUM(0), keys);

	PG_RETURN_INT64(ProbeError(probe, sketch, confidence, keys));
}

/* qsketch_bounds(qsketch, key, confidence, keys): lower bound, estimate, upper bound. */
PG_FUNCTION_INFO_V1(qsketch_bounds);
Datum
qsketch_bounds(PG_FUNCTION_ARGS)
{
	Probe *probe = ProbeOf(fcinfo);
	Datum datum = PG_GETARG_DATUM(0);
	double confidence = CheckConfidence(PG_GETARG_FLOAT8(2), true);
	int64 keys = keys_argument(fcinfo, 3);
	const qs_sketch *sketch = ProbeSketchForError(probe, datum, keys);
	uint64 fingerprint = key_argument(fcinfo, probe, sketch);
	int64 error = ProbeError(probe, sketch, confidence, keys);
	qs_bounds bounds = qs_bounds_of(ProbeEstimate(datum, sketch, fingerprint), error);
	Datum values[] = { Int64GetDatum(bounds.lower), Int64GetDatum(bounds.estimate),
					   Int64GetDatum(bounds.upper) };

	return ReturnRow(fcinfo, values, NULL);
}

/*
 * ---- batches of keys ----
 *
 * A batch goes to the GPU if qsketch.device says so.  A stored sketch stays there for
 * the next batch.  It is recognized by its header and toast pointer, so nothing else of
 * it is read here.
 */

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

/* Look up in the cached copy of a sketch stored out of line. */
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
	const qs_sketch *sketch = stored ? &view : ProbeSketch(probe, datum);
	StoredName key;
	bool named;

	batch->keys.array = PG_GETARG_ARRAYTYPE_P(KEYS_ARGUMENT);
	KeyProbeArray(&probe->keys, fcinfo, KEYS_ARGUMENT, &sketch->keys, &sketch_key_holder,
				  &batch->keys);
	batch->estimate = KeyBatchAlloc(batch->keys.count, sizeof(int64));
	if (stored && lookup_stored(datum, &view, &key, batch))
		return;
	if (stored)
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
		PutRow(fcinfo, values, nulls);
	}
	PG_RETURN_NULL();
}
