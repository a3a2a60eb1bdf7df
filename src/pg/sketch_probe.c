/*
 * sketch_probe.c
 *		Estimates of keys: qsketch_estimate, qsketch_lookup, qsketch_error, qsketch_bounds.
 *
 * A sketch of 1 MB is stored out of line.  Fetching the sketch takes about a thousand times as long
 * as an estimate.  So a query that looks up many keys in a stored sketch must fetch the sketch only
 * once, even if a join returns the sketch with each row.  For this purpose the calling expression
 * keeps copies of sketches (stored.h).
 *
 * A query that looks up one key in each of many stored sketches should fetch none of them as a
 * whole.  It reads only the header and the key's bucket of each sketch.  A query that alternates
 * between more sketches than it may keep also reads only buckets, and keeps the headers.
 *
 * src/pg/sketch_probe.c
 */
#include "pg/sketch_state.h"

#include "catalog/pg_type_d.h"
#include "gpu/sketch_gpu.h"
#include "miscadmin.h"
#include "pgbase/keyread.h"
#include "pgbase/stored.h"
#include "pgbase/value.h"
#include "sketch/measure.h"
#include "sketch/pieces.h"
#include "utils/memutils.h"

/* The cache entry of a sketch that is stored out of line. */
typedef struct StoredSketch
{
	StoredValue stored;
	bool opened;                   /* "view" is set */
	qs_sketch view;                /* the sketch's header, without tables */
	uint8 header[QS_HEADER_BYTES]; /* header bytes of the copy */
	SketchState *copy;             /* copy of the whole sketch, or NULL */
} StoredSketch;

/* The measured noise of a sketch, and the last error that was computed from the noise. */
typedef struct Measured
{
	MemoryContext context; /* memory context of the noise */
	qb_memory memory;
	bool there; /* "noise" is set */
	qs_noise noise;
	bool asked; /* "error" is set, for "confidence" and "probes" */
	double confidence;
	int64 probes;
	int64 error; /* limit of the overestimate, for "probes" keys together */
} Measured;

typedef struct StoredNoise
{
	StoredValue stored;
	Measured measured;
} StoredNoise;

/*
 * The state of a calling expression, in its fn_extra: the type of the keys, sketches that are
 * stored out of line, and noise.  In qsketch_estimate, the first row with a stored sketch reads
 * only the needed parts of the sketch.  If the cache has memory, the second row makes a copy of
 * the sketch, and later rows use the copy.  Noise is kept for several stored sketches, and for the
 * last sketch that is not stored out of line.
 */
typedef struct Probe
{
	KeyProbe keys;       /* the type of the rows' keys */
	SketchReader reader; /* reads the sketch of the current row */

	StoredCache sketches; /* cache of StoredSketches */
	StoredCache noises;   /* cache of StoredNoises */
	StoredNoise *noise;   /* noise of the current row's sketch; NULL: not stored out of line */

	/* The kept flat value of an earlier row, which was not stored out of line. */
	MemoryContext flat_context;
	struct varlena *flat;     /* copy of the value, or NULL */
	SketchState *flat_tables; /* copy with tables, if "flat" is compact; or NULL */

	Measured other; /* noise that is not kept in "noises" */
	bool other_expanded;
	uint64 other_version; /* version of the measured expanded sketch */
	int64 other_total;
} Probe;

/* Measured noise may take 1 / NOISE_DIVISOR of the limit for copies, in addition to the copies. */
#define NOISE_DIVISOR 4

static void
init_measured(Measured *measured, MemoryContext parent)
{
	if (measured->context == NULL)
		measured->context = AllocSetContextCreate(parent, "qsketch noise", ALLOCSET_SMALL_SIZES);
}

/*
 * Create the probe at the first call.  Its copies of stored sketches may take as much memory as a
 * hash table of the executor.  A single copy may take more.
 */
static Probe *
create_probe(FmgrInfo *flinfo)
{
	Probe *probe = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(Probe));
	Size limit = get_hash_memory_limit();

	probe->keys.context = flinfo->fn_mcxt;
	StoredInit(&probe->sketches, flinfo->fn_mcxt, sizeof(StoredSketch), limit);
	StoredInit(&probe->noises, flinfo->fn_mcxt, sizeof(StoredNoise), limit / NOISE_DIVISOR);
	init_measured(&probe->other, flinfo->fn_mcxt);
	flinfo->fn_extra = probe;
	return probe;
}

static inline Probe *
probe_of(FunctionCallInfo fcinfo)
{
	Probe *probe = fcinfo->flinfo->fn_extra;

	return likely(probe) ? probe : create_probe(fcinfo->flinfo);
}

/* Return the cache entry of the row's sketch.  NULL: the sketch is not stored out of line. */
static inline StoredSketch *
stored_of(Probe *probe, Datum datum)
{
	return (StoredSketch *) StoredFind(&probe->sketches, datum);
}

/* Prefetch the key's counters in the copy of the sketch that the next row probably has. */
static inline void
prefetch_next(const StoredSketch *stored, uint64 fingerprint)
{
	const StoredSketch *next = (const StoredSketch *) StoredGuess(&stored->stored);

	if (next && next->copy)
		qs_estimate_soon(&next->copy->sketch, fingerprint);
}

/* True if only the header of this sketch was read. */
static inline bool
is_header(const qs_sketch *sketch)
{
	return sketch->encoding != QS_EXPLICIT && sketch->table == NULL && sketch->extra == NULL &&
		   sketch->compact == NULL;
}

/*
 * Return the header of a stored sketch, to read parts of the sketch.  NULL: the sketch must be read
 * as a whole, because it is explicit, or because its storage does not allow partial reads.
 */
static const qs_sketch *
header_of(StoredSketch *stored, Datum datum)
{
	if (!stored->opened)
		stored->opened =
			SketchOpenStored(&stored->view, datum) && stored->view.encoding != QS_EXPLICIT;
	if (!stored->opened)
		return NULL;
	stored->view.table = stored->view.extra = NULL;
	stored->view.compact = NULL;
	return &stored->view;
}

static void
read_range(void *context, uint64_t offset, uint32_t bytes, uint8_t *out)
{
	StoredReadRange(&sketch_format, *(Datum *) context, offset, bytes, out);
}

/* Estimate a key from the parts of a stored sketch that have the key's counters. */
static int64
estimate_pieces(Datum datum, const qs_sketch *view, uint64 fingerprint)
{
	qs_source source = { .read = read_range, .context = &datum };

	return qs_estimate_stored(view, qb_hash(fingerprint, view->seed_key), &source);
}

/*
 * True if the cache may keep a copy of the sketch.  The copy has tables, even if the stored sketch
 * is compact.
 */
static bool
has_room(Probe *probe, StoredSketch *stored, Datum datum)
{
	const qs_sketch *view = header_of(stored, datum);
	Size bytes = stored->stored.id.va_rawsize;

	if (view)
		bytes = Max(bytes, qs_dense_size(&view->params, view->wide));
	return StoredMayKeep(&probe->sketches, &stored->stored, bytes);
}

/* Copy the sketch that the reader has opened, and keep the copy in the cache. */
static void
keep_copy(Probe *probe, StoredSketch *stored)
{
	stored->copy = NULL;
	MemoryContextReset(stored->stored.context);
	memcpy(stored->header, probe->reader.header, QS_HEADER_BYTES);
	stored->copy = SketchCopy(stored->stored.context, probe->reader.sketch);
	StoredKept(&probe->sketches, &stored->stored);
	SketchReadEnd(&probe->reader);
}

/*
 * Return the whole of a stored sketch: its copy, or the fetched value if the cache has no memory
 * for a copy.  At the first use of a sketch, the cache drops no older copy.
 */
static const qs_sketch *
read_stored(Probe *probe, StoredSketch *stored, Datum datum)
{
	if (stored->copy == NULL && !has_room(probe, stored, datum))
	{
		SketchRead(&probe->reader, datum);
		return probe->reader.sketch;
	}
	if (stored->copy == NULL)
	{
		SketchReadAsStored(&probe->reader, datum);
		keep_copy(probe, stored);
	}
	probe->reader.header = stored->header;
	return &stored->copy->sketch;
}

/* ---- values that are not stored out of line ---- */

/* Return the flat value that the reader has opened. */
static const struct varlena *
value_read(const Probe *probe)
{
	return (const struct varlena *) (probe->reader.header - VARHDRSZ);
}

/*
 * True if the flat value of this row equals the kept value.  All bytes are compared, because a user
 * could forge a checksum.
 */
static bool
is_kept(const Probe *probe)
{
	const struct varlena *value = probe->reader.header ? value_read(probe) : NULL;

	return value && probe->flat && VARSIZE(value) == VARSIZE(probe->flat) &&
		   memcmp(value, probe->flat, VARSIZE(value)) == 0;
}

/* Free the kept flat value, and invalidate the noise in "other". */
static void
forget_flat(Probe *probe)
{
	probe->flat = NULL;
	probe->flat_tables = NULL;
	probe->other.there = false;
	if (probe->flat_context)
		MemoryContextReset(probe->flat_context);
}

/*
 * Keep a copy of this row's flat value, and tables if the value is compact.  If the copies would
 * exceed the cache's limit, keep nothing.
 */
static void
keep_flat(Probe *probe)
{
	const qs_sketch *sketch = probe->reader.sketch;
	Size bytes = VARSIZE(value_read(probe));
	bool compact = sketch->encoding == QS_COMPACT;

	if (probe->flat_context == NULL)
		probe->flat_context = AllocSetContextCreate(GetMemoryChunkContext(probe), "qsketch value",
													ALLOCSET_SMALL_SIZES);
	forget_flat(probe);
	if (bytes + (compact ? qs_dense_size(&sketch->params, sketch->wide) : 0) >
		probe->sketches.limit)
		return;
	if (compact)
		probe->flat_tables = SketchCopy(probe->flat_context, sketch);
	probe->flat = MemoryContextAllocHuge(probe->flat_context, bytes);
	memcpy(probe->flat, value_read(probe), bytes);
}

/*
 * Return the sketch of this row, which is not stored out of line.  A compact sketch is returned
 * with tables.
 */
static const qs_sketch *
read_here(Probe *probe, Datum datum)
{
	SketchReadAsStored(&probe->reader, datum);
	if (probe->reader.sketch->encoding != QS_COMPACT)
		return probe->reader.sketch;
	if (!is_kept(probe))
		keep_flat(probe);
	if (probe->flat_tables)
		return &probe->flat_tables->sketch;
	SketchReadEnd(&probe->reader);
	SketchRead(&probe->reader, datum);
	return probe->reader.sketch;
}

/* Return the sketch of this row, which is valid until the next row. */
static const qs_sketch *
sketch_of(Probe *probe, Datum datum)
{
	StoredSketch *stored = stored_of(probe, datum);

	return stored ? read_stored(probe, stored, datum) : read_here(probe, datum);
}

/* ---- noise ---- */

/* True if "other" has the noise of this row's sketch with its current counts. */
static bool
is_other(const Probe *probe, const qs_sketch *sketch)
{
	if (!probe->other.there || probe->other_expanded != (probe->reader.header == NULL))
		return false;
	if (!probe->other_expanded)
		return is_kept(probe);
	return probe->other_version == probe->reader.version && probe->other_total == sketch->total;
}

/* Assign "other" to this row's sketch, whose noise the caller will measure. */
static void
note_other(Probe *probe, const qs_sketch *sketch)
{
	probe->other.there = false;
	probe->other_expanded = probe->reader.header == NULL;
	probe->other_version = probe->reader.version;
	probe->other_total = sketch->total;
	if (!probe->other_expanded && !is_kept(probe))
		keep_flat(probe);
}

static void
measure(Measured *measured, const qs_sketch *sketch, int64 probes)
{
	measured->there = measured->asked = false;
	MemoryContextReset(measured->context);
	SketchCheck(qs_noise_init(&measured->noise, sketch, (uint64) probes,
							  ContextMemory(measured->context, &measured->memory)));
	measured->there = true;
}

static bool
is_for(const Measured *measured, const qs_sketch *sketch, int64 probes)
{
	return measured->there && measured->noise.buckets == qs_noise_buckets(sketch, (uint64) probes);
}

/*
 * The maximum number of bytes that the measured noise of a sketch takes.  The noise of a device
 * part of sf may take more.
 */
static Size
noise_size(void)
{
	return (qs_bin_of(UINT64_MAX) + 1) * sizeof(double);
}

/*
 * Return the slot for the noise of this row's sketch: the cache entry of a stored sketch, or
 * "other".
 */
static Measured *
noise_slot_of(Probe *probe, const qs_sketch *sketch)
{
	StoredNoise *stored = probe->noise;

	if (stored &&
		(stored->measured.there || StoredMayKeep(&probe->noises, &stored->stored, noise_size())))
	{
		init_measured(&stored->measured, stored->stored.context);
		return &stored->measured;
	}
	if (stored)
		forget_flat(probe); /* the cache is full: each row measures the noise again */
	else if (!is_other(probe, sketch))
		note_other(probe, sketch);
	return &probe->other;
}

/*
 * Return the noise of this row's sketch, for estimates of "probes" keys.  Measuring takes
 * milliseconds, so the noise is kept.
 */
static Measured *
measured_of(Probe *probe, const qs_sketch *sketch, int64 probes)
{
	Measured *measured = noise_slot_of(probe, sketch);

	if (is_for(measured, sketch, probes))
		return measured;
	measure(measured, sketch, probes);
	if (measured != &probe->other)
		StoredKept(&probe->noises, &probe->noise->stored);
	return measured;
}

/* Return the sketch of this row, and look up its noise for measured_of(). */
static const qs_sketch *
sketch_to_measure(Probe *probe, Datum datum)
{
	probe->noise = (StoredNoise *) StoredFind(&probe->noises, datum);
	return sketch_of(probe, datum);
}

/*
 * Return the sketch of this row for error_of() and estimate_from().  If a stored sketch has no
 * copy, but its noise was measured, the result is only the header.
 */
static const qs_sketch *
sketch_for_error(Probe *probe, Datum datum, int64 probes)
{
	StoredSketch *stored = stored_of(probe, datum);
	const qs_sketch *view;

	probe->noise = (StoredNoise *) StoredFind(&probe->noises, datum);
	if (stored == NULL)
		return sketch_of(probe, datum);
	if (stored->copy == NULL && probe->noise->measured.there)
	{
		view = header_of(stored, datum);
		if (view && is_for(&probe->noise->measured, view, probes))
			return view;
	}
	return read_stored(probe, stored, datum);
}

/* Estimate a key from the result of sketch_for_error(). */
static int64
estimate_from(Datum datum, const qs_sketch *sketch, uint64 fingerprint)
{
	return is_header(sketch) ? estimate_pieces(datum, sketch, fingerprint)
							 : qs_estimate(sketch, fingerprint);
}

/*
 * Return the error for the result of sketch_for_error().  The error is kept with the noise, until a
 * row has another confidence or number of keys.
 */
static int64
error_of(Probe *probe, const qs_sketch *sketch, double confidence, int64 probes)
{
	Measured *measured = measured_of(probe, sketch, probes);

	if (!measured->asked || measured->confidence != confidence || measured->probes != probes)
	{
		measured->error = qs_noise_error(&measured->noise, confidence, (uint64) probes);
		measured->confidence = confidence;
		measured->probes = probes;
		measured->asked = true;
	}
	return measured->error;
}

/* ---- estimates of one key, and their errors ---- */

#define KEY_ARGUMENT 1

/*
 * Return the fingerprint of the key argument.  Raise an error if the key does not fit the sketch's
 * keys.
 */
static uint64
key_argument(FunctionCallInfo fcinfo, Probe *probe, const qs_sketch *sketch)
{
	return KeyProbeArgument(&probe->keys, fcinfo, KEY_ARGUMENT, &sketch->keys, &sketch_key_holder);
}

/*
 * Estimate a key of a sketch without a copy.  From its second row on, a stored sketch is copied if
 * the cache has memory for the copy.
 */
static pg_noinline int64
estimate_not_kept(FunctionCallInfo fcinfo, Probe *probe, StoredSketch *stored)
{
	Datum datum = PG_GETARG_DATUM(0);
	const qs_sketch *sketch = NULL;

	if (stored && !(StoredAgain(&stored->stored) && has_room(probe, stored, datum)))
		sketch = header_of(stored, datum);
	if (sketch)
		return estimate_pieces(datum, sketch, key_argument(fcinfo, probe, sketch));
	if (stored)
		sketch = read_stored(probe, stored, datum);
	else
	{
		SketchReadAsStored(&probe->reader, datum);
		sketch = probe->reader.sketch;
	}
	return qs_estimate(sketch, key_argument(fcinfo, probe, sketch));
}

/*
 * qsketch_estimate(qsketch, key): an upper bound of the key's total weight.
 *
 * In a join with one stored sketch, the second row makes a copy.  All later rows use this copy.  If
 * rows alternate between several sketches, the next row probably looks up the same key in another
 * sketch.  So the key's counters in that sketch are prefetched.
 */
PG_FUNCTION_INFO_V1(qsketch_estimate);
Datum
qsketch_estimate(PG_FUNCTION_ARGS)
{
	Probe *probe = probe_of(fcinfo);
	StoredSketch *stored = stored_of(probe, PG_GETARG_DATUM(0));
	const qs_sketch *kept;
	uint64 fingerprint;

	if (unlikely(stored == NULL || stored->copy == NULL))
		PG_RETURN_INT64(estimate_not_kept(fcinfo, probe, stored));
	kept = &stored->copy->sketch;
	fingerprint = KeyProbeFingerprint(&probe->keys, &kept->keys, &sketch_key_holder,
									  PG_GETARG_DATUM(KEY_ARGUMENT));
	prefetch_next(stored, fingerprint);
	PG_RETURN_INT64(qs_estimate(kept, fingerprint));
}

/*
 * qsketch_estimate_unbiased(qsketch, key, clip): the estimate less the noise around the key.
 * "clip": limit the result to the range from 0 to the estimate.
 */
PG_FUNCTION_INFO_V1(qsketch_estimate_unbiased);
Datum
qsketch_estimate_unbiased(PG_FUNCTION_ARGS)
{
	Probe *probe = probe_of(fcinfo);
	const qs_sketch *sketch = sketch_to_measure(probe, PG_GETARG_DATUM(0));
	uint64 fingerprint = key_argument(fcinfo, probe, sketch);
	const qs_noise *noise =
		qs_unbiased_needs_noise(sketch) ? &measured_of(probe, sketch, 1)->noise : NULL;
	double unbiased = qs_estimate_unbiased(sketch, noise, fingerprint);

	if (PG_GETARG_BOOL(2))
		unbiased = Max(0, Min(unbiased, (double) qs_estimate(sketch, fingerprint)));
	PG_RETURN_FLOAT8(unbiased);
}

/* Return the argument "keys": the number of keys for which the error must hold together. */
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
 * qsketch_error(qsketch, confidence, keys): an upper limit of the overestimate.  With this
 * confidence, the limit holds for all of "keys" keys together.
 */
PG_FUNCTION_INFO_V1(qsketch_error);
Datum
qsketch_error(PG_FUNCTION_ARGS)
{
	Probe *probe = probe_of(fcinfo);
	double confidence = CheckConfidence(PG_GETARG_FLOAT8(1), true);
	int64 keys = keys_argument(fcinfo, 2);
	const qs_sketch *sketch = sketch_for_error(probe, PG_GETARG_DATUM(0), keys);

	PG_RETURN_INT64(error_of(probe, sketch, confidence, keys));
}

/* qsketch_bounds(qsketch, key, confidence, keys): lower bound, estimate, upper bound. */
PG_FUNCTION_INFO_V1(qsketch_bounds);
Datum
qsketch_bounds(PG_FUNCTION_ARGS)
{
	Probe *probe = probe_of(fcinfo);
	Datum datum = PG_GETARG_DATUM(0);
	double confidence = CheckConfidence(PG_GETARG_FLOAT8(2), true);
	int64 keys = keys_argument(fcinfo, 3);
	const qs_sketch *sketch = sketch_for_error(probe, datum, keys);
	uint64 fingerprint = key_argument(fcinfo, probe, sketch);
	int64 error = error_of(probe, sketch, confidence, keys);
	qs_bounds bounds = qs_bounds_of(estimate_from(datum, sketch, fingerprint), error);
	Datum values[] = { Int64GetDatum(bounds.lower), Int64GetDatum(bounds.estimate),
					   Int64GetDatum(bounds.upper) };

	return ReturnRow(fcinfo, values, NULL);
}

/*
 * ---- batches of keys ----
 *
 * The setting qsketch.device decides whether a GPU looks up a batch.  A stored sketch stays cached
 * on the GPU for the next batch.  The sketch's header and toast pointer identify the cached sketch,
 * so this process reads only the header of a cached sketch.
 */

/* Number of keys between two checks for interrupts.  Each key has up to QS_DEPTH_MAX counters. */
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

/* Set *name to the name under which a device caches the sketch.  False: the sketch has no name. */
static bool
name_of(const Probe *probe, Datum datum, bool stored, StoredName *name)
{
	const uint8 *bytes = probe->reader.header;

	if (stored)
		return GpuNameStored(&gpu_stored_sketches, datum, name);
	if (bytes == NULL || VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		return false;
	GpuNameBytes(&gpu_stored_sketches, bytes, VARSIZE(bytes - VARHDRSZ) - VARHDRSZ, name);
	return true;
}

/*
 * Look up the keys on a device.  False: the caller must look up the keys.  *sketch may be the
 * header of a stored sketch.  If a device should look up the keys, but no device has cached this
 * sketch, *sketch is set to the whole sketch.
 */
static bool
ask_device(Probe *probe, Datum datum, bool stored, const qs_sketch **sketch, Batch *batch)
{
	GpuLookup lookup = { .stored = &gpu_stored_sketches,
						 .op = SKETCH_QUERY,
						 .key = batch->keys.fingerprint,
						 .count = batch->keys.count,
						 .answer = batch->estimate,
						 .answer_bytes = sizeof(int64) };
	StoredName name;
	bool named;

	if (!GpuSketchWantsLookup(*sketch, batch->keys.count))
		return false;
	named = name_of(probe, datum, stored, &name);
	if (named && GpuLookupCached(&lookup, &name))
		return true;
	if (stored)
		*sketch = sketch_of(probe, datum);
	return GpuLookupLoaded(&lookup, *sketch, named ? &name : NULL);
}

/* Estimate all keys of an array. */
static void
estimate_batch(FunctionCallInfo fcinfo, Batch *batch)
{
	Probe *probe = probe_of(fcinfo);
	Datum datum = PG_GETARG_DATUM(0);
	qs_sketch view;
	bool stored = SketchOpenStored(&view, datum);
	const qs_sketch *sketch = stored ? &view : sketch_of(probe, datum);

	batch->keys.array = PG_GETARG_ARRAYTYPE_P(KEY_ARGUMENT);
	KeyProbeArray(&probe->keys, fcinfo, KEY_ARGUMENT, &sketch->keys, &sketch_key_holder,
				  &batch->keys);
	batch->estimate = KeyBatchAlloc(batch->keys.count, sizeof(int64));
	if (ask_device(probe, datum, stored, &sketch, batch))
		return;
	query(sketch == &view ? sketch_of(probe, datum) : sketch, batch);
}

/* qsketch_estimate(qsketch, key[]): one estimate for each element; NULL for a NULL element. */
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
