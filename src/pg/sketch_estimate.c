/*
 * sketch_estimate.c
 *		qsketch_estimate: how often did these keys occur?
 *
 * src/pg/sketch_estimate.c
 */
#include "sketch/unbiased.h"
#include "pg/sketch_probe.h"
#include "pgbase/errors.h"
#include "pgbase/keyexpr.h"
#include "pgbase/row.h"

#define KEY_ARGUMENT 1

static pg_noinline void
learn_key(FunctionCallInfo fcinfo, Probe *probe)
{
	KeyArgument key;

	KeyArgumentOf(&key, fcinfo, KEY_ARGUMENT);
	ProbeSetKey(probe, key.type, key.collation);
	KeyTypeLearn(&probe->key, PG_GETARG_DATUM(KEY_ARGUMENT));
	probe->literal = key.literal;
}

/* Fingerprint of the key argument, after a check that the sketch holds such keys. */
static uint64
key_argument(FunctionCallInfo fcinfo, Probe *probe, const qs_sketch *sketch)
{
	if (unlikely(probe->key.type == InvalidOid))
		learn_key(fcinfo, probe);
	return ProbeFingerprint(probe, sketch, PG_GETARG_DATUM(KEY_ARGUMENT));
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
	fingerprint = ProbeFingerprint(probe, kept, PG_GETARG_DATUM(KEY_ARGUMENT));
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
	bool nulls[lengthof(values)] = { 0 };

	return ReturnRow(fcinfo, values, nulls);
}
