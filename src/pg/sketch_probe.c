/*
 * sketch_probe.c
 *		Looking up keys in sketches: what is kept from row to row.
 *
 * A sketch of 1 MB is stored out of line, and fetching it costs some thousand times as
 * much as an estimate.  So a query that looks up many keys in stored sketches must
 * fetch each sketch only once, even if a join brings it again with each row: copies are
 * kept (stored.h).  A query that looks up one key in many stored sketches should fetch
 * none of them: it reads the header and the key's bucket.  So does a query that goes
 * round more sketches than may be kept; their headers are remembered.
 *
 * src/pg/sketch_probe.c
 */
#include "pg/sketch_probe.h"

#include "miscadmin.h"
#include "sketch/measure.h"
#include "sketch/pieces.h"
#include "utils/memutils.h"

/* Measured noise may take 1 / NOISE_SHARE of the limit for copies, in addition to it. */
#define NOISE_SHARE 4

static void
init_measured(Measured *measured, MemoryContext parent)
{
	if (measured->context == NULL)
		measured->context = AllocSetContextCreate(parent, "qsketch noise", ALLOCSET_SMALL_SIZES);
}

/* Make the probe at the first call.  Its limit is the memory of an executor node's hash table. */
Probe *
ProbeCreate(FmgrInfo *flinfo)
{
	Probe *probe = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(Probe));
	Size limit = get_hash_memory_limit();

	probe->keys.context = flinfo->fn_mcxt;
	StoredInit(&probe->sketches, flinfo->fn_mcxt, sizeof(StoredSketch), limit);
	StoredInit(&probe->noises, flinfo->fn_mcxt, sizeof(StoredNoise), limit / NOISE_SHARE);
	init_measured(&probe->other, flinfo->fn_mcxt);
	flinfo->fn_extra = probe;
	return probe;
}

/*
 * The header of a stored sketch, opened for reading parts.  NULL if the sketch must be
 * read as a whole: it is explicit, or not stored so that parts can be read.
 */
const qs_sketch *
ProbeHeader(StoredSketch *stored, Datum datum)
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
read_part(void *context, uint64_t offset, uint32_t bytes, uint8_t *out)
{
	StoredReadPart(&sketch_format, *(Datum *) context, offset, bytes, out);
}

/* Estimate of a key from parts of a stored sketch whose header is open. */
int64
ProbePieces(Datum datum, const qs_sketch *view, uint64 fingerprint)
{
	qs_source source = { .read = read_part, .context = &datum };

	return qs_estimate_stored(view, qb_hash(fingerprint, view->seed_key), &source);
}

/* May a copy of the sketch be kept?  It has tables, also if the sketch is stored without. */
bool
ProbeHasRoom(Probe *probe, StoredSketch *stored, Datum datum)
{
	const qs_sketch *view = ProbeHeader(stored, datum);
	Size bytes = stored->stored.id.va_rawsize;

	if (view)
		bytes = Max(bytes, qs_dense_size(&view->params, view->wide));
	return StoredMayKeep(&probe->sketches, &stored->stored, bytes);
}

/* Keep a copy of the sketch that was read. */
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
 * The whole of a stored sketch: its copy, which is made if there is room.  At the first
 * use of a sketch no other copy makes room for it.
 */
const qs_sketch *
ProbeRead(Probe *probe, StoredSketch *stored, Datum datum)
{
	if (stored->copy == NULL && !ProbeHasRoom(probe, stored, datum))
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

/* The value whose bytes the reader has. */
static const struct varlena *
value_read(const Probe *probe)
{
	return (const struct varlena *) (probe->reader.header - VARHDRSZ);
}

/* Is the flat value of this row the one that was kept?  A checksum alone could be forged. */
static bool
is_kept(const Probe *probe)
{
	const struct varlena *value = probe->reader.header ? value_read(probe) : NULL;

	return value && probe->flat && VARSIZE(value) == VARSIZE(probe->flat) &&
		   memcmp(value, probe->flat, VARSIZE(value)) == 0;
}

/* Forget the flat value that was kept, and what was measured of it. */
static void
forget_flat(Probe *probe)
{
	probe->flat = NULL;
	probe->flat_tables = NULL;
	probe->other.there = false;
	if (probe->flat_context)
		MemoryContextReset(probe->flat_context);
}

/* Keep the flat value of this row, with tables if it is compact; not if they are too large. */
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

/* The sketch of this row, which is expanded or flat, with tables. */
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

/* The sketch of this row, for reading; valid until the row ends. */
const qs_sketch *
ProbeSketch(Probe *probe, Datum datum)
{
	StoredSketch *stored = ProbeStored(probe, datum);

	return stored ? ProbeRead(probe, stored, datum) : read_here(probe, datum);
}

/* The sketch of a row that is not stored out of line, for estimates of a few keys. */
const qs_sketch *
ProbeSketchAsStored(Probe *probe, Datum datum)
{
	SketchReadAsStored(&probe->reader, datum);
	return probe->reader.sketch;
}

/* ---- noise ---- */

/* Was "other" measured from the sketch of this row, with its current counts? */
static bool
is_other(const Probe *probe, const qs_sketch *sketch)
{
	if (!probe->other.there || probe->other_expanded != (probe->reader.header == NULL))
		return false;
	if (!probe->other_expanded)
		return is_kept(probe);
	return probe->other_version == probe->reader.version && probe->other_total == sketch->total;
}

/* The noise of this row's sketch will be measured. */
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

/* The most bytes that the measured noise of a sketch takes. */
static Size
noise_size(void)
{
	return (qs_bin_of(UINT64_MAX) + 1) * sizeof(double);
}

/*
 * Where the noise of this row's sketch is kept: in the cache of stored
 * sketches, or in "other" for a sketch that is not in there.
 */
static Measured *
place_of(Probe *probe, const qs_sketch *sketch)
{
	StoredNoise *stored = probe->noise;

	if (stored &&
		(stored->measured.there || StoredMayKeep(&probe->noises, &stored->stored, noise_size())))
	{
		init_measured(&stored->measured, stored->stored.context);
		return &stored->measured;
	}
	if (stored)
		forget_flat(probe); /* measured anew for each row, for lack of room */
	else if (!is_other(probe, sketch))
		note_other(probe, sketch);
	return &probe->other;
}

/*
 * The noise of this row's sketch, for one probe or for several.  Measuring takes
 * milliseconds and is done once.
 */
static Measured *
measured_of(Probe *probe, const qs_sketch *sketch, int64 probes)
{
	Measured *measured = place_of(probe, sketch);

	if (is_for(measured, sketch, probes))
		return measured;
	measure(measured, sketch, probes);
	if (measured != &probe->other)
		StoredKept(&probe->noises, &probe->noise->stored);
	return measured;
}

/* The sketch of this row, measured for ProbeNoise(). */
const qs_sketch *
ProbeSketchToMeasure(Probe *probe, Datum datum)
{
	probe->noise = (StoredNoise *) StoredFind(&probe->noises, datum);
	return ProbeSketch(probe, datum);
}

/*
 * The sketch of this row, for ProbeError() and ProbeEstimate().  Of a stored sketch
 * that was measured but is not kept, only the header is read.
 */
const qs_sketch *
ProbeSketchForError(Probe *probe, Datum datum, int64 probes)
{
	StoredSketch *stored = ProbeStored(probe, datum);
	const qs_sketch *view;

	probe->noise = (StoredNoise *) StoredFind(&probe->noises, datum);
	if (stored == NULL)
		return ProbeSketch(probe, datum);
	if (stored->copy == NULL && probe->noise->measured.there)
	{
		view = ProbeHeader(stored, datum);
		if (view && is_for(&probe->noise->measured, view, probes))
			return view;
	}
	return ProbeRead(probe, stored, datum);
}

/* Estimate of a key from the sketch that ProbeSketchForError() returned. */
int64
ProbeEstimate(Datum datum, const qs_sketch *sketch, uint64 fingerprint)
{
	return ProbeIsHeader(sketch) ? ProbePieces(datum, sketch, fingerprint)
								 : qs_estimate(sketch, fingerprint);
}

/* The noise of the sketch that ProbeSketchToMeasure() returned for this row. */
const qs_noise *
ProbeNoise(Probe *probe, const qs_sketch *sketch, int64 probes)
{
	return &measured_of(probe, sketch, probes)->noise;
}

/*
 * The error of the sketch that ProbeSketchForError() returned.  It is kept while all
 * rows ask for the same confidence and number of keys.
 */
int64
ProbeError(Probe *probe, const qs_sketch *sketch, double confidence, int64 probes)
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
