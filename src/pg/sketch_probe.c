/*
 * sketch_probe.c
 *		Looking up keys in sketches: what is kept from row to row.
 *
 * A sketch of 1 MB is stored out of line, and fetching it costs some thousand
 * times an estimate.  A query that looks up many keys in one stored sketch
 * therefore must fetch it once, also when it comes anew with each row of a
 * join.  It is recognized by its toast pointer: the value behind one never
 * changes.  A query that looks up one key in many stored sketches, on the other
 * hand, should not fetch any of them: it reads the header and the key's bucket.
 *
 * src/pg/sketch_probe.c
 */
#include "pg/sketch_probe.h"

#include "sketch/pieces.h"
#include "utils/memutils.h"

/* The first call of an expression. */
Probe *
ProbeCreate(FmgrInfo *flinfo)
{
	Probe *probe = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(Probe));

	probe->copy_context =
		AllocSetContextCreate(flinfo->fn_mcxt, "qsketch probe", ALLOCSET_SMALL_SIZES);
	probe->noise_context =
		AllocSetContextCreate(flinfo->fn_mcxt, "qsketch noise", ALLOCSET_SMALL_SIZES);
	flinfo->fn_extra = probe;
	return probe;
}

/* Learn the type of the keys. */
void
ProbeSetKey(Probe *probe, Oid type, Oid collation)
{
	if (probe->key.type != type || probe->key.input_collation != collation)
		KeyTypeInit(&probe->key, type, collation);
}

/* The same for a sketch of other keys: a literal is read as one of those. */
uint64
ProbeMisfit(Probe *probe, const qs_sketch *sketch, Datum value)
{
	if (!probe->literal)
		KeyFamilyCheckProbe(&sketch->keys, &probe->key, &sketch_key_holder);
	return KeyReadText(&probe->literals, GetMemoryChunkContext(probe), &sketch->keys,
					   &sketch_key_holder, &probe->key, value);
}

/* Forget the last sketch and note the next. */
static void
note_sketch(Probe *probe, const char *toast_id)
{
	MemoryContextReset(probe->copy_context);
	probe->kept = false;
	probe->seen = true;
	memcpy(probe->toast_id, toast_id, TOAST_ID_BYTES);
}

static bool
is_noted(const Probe *probe, Datum datum)
{
	return probe->seen && memcmp(probe->toast_id, DatumGetPointer(datum), TOAST_ID_BYTES) == 0;
}

/* Is this a sketch, stored out of line, other than that of the last row? */
bool
ProbeIsNew(const Probe *probe, Datum datum)
{
	return VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)) && !is_noted(probe, datum);
}

/*
 * Note a new stored sketch and open it by its header.  False if it must be
 * read whole: it is explicit, or stored in a way that has no parts.
 */
bool
ProbeHeader(Probe *probe, Datum datum, qs_sketch *view)
{
	if (!SketchOpenStored(view, datum) || view->form != QS_DENSE)
		return false;
	note_sketch(probe, DatumGetPointer(datum));
	return true;
}

/* Estimate of a key in a stored sketch whose header is open. */
int64
ProbeStored(Datum datum, const qs_sketch *view, uint64 fingerprint)
{
	uint64 hv = qs_hash(fingerprint, view->seed_key);
	uint8 bytes[QS_PIECES_BYTES];
	qs_piece piece[QS_DEPTH_MAX];
	uint32 count = qs_pieces(view, hv, piece);
	uint32 used = 0;
	qs_sketch one;
	int64 estimate;
	uint32 i;

	for (i = 0; i < count; i++)
	{
		SketchReadStored(datum, piece[i].offset, piece[i].bytes, bytes + used);
		used += piece[i].bytes;
	}
	if (qs_high_piece(view, bytes, piece))
		SketchReadStored(datum, piece->offset, piece->bytes, bytes + used);
	qs_from_pieces(&one, view, bytes);
	one.ops->query(&one, &hv, 1, &estimate);
	return estimate;
}

/* A sketch stored out of line. */
static const qs_sketch *
stored_sketch(Probe *probe, Datum datum)
{
	const char *toast_id = DatumGetPointer(datum);
	bool same = is_noted(probe, datum);

	if (same && probe->kept)
	{
		probe->reader.header = probe->copy_header;
		return &probe->copy->sketch;
	}
	SketchRead(&probe->reader, datum);
	if (!same)
	{
		note_sketch(probe, toast_id);
		return probe->reader.sketch;
	}
	probe->copy = ExpandedCopy(probe->copy_context, probe->reader.sketch);
	probe->kept = true;
	memcpy(probe->copy_header, probe->reader.header, QS_HEADER_BYTES);
	SketchReadEnd(&probe->reader);
	probe->reader.header = probe->copy_header;
	return &probe->copy->sketch;
}

/* The sketch of this row, for reading; good until the row ends. */
const qs_sketch *
ProbeSketch(Probe *probe, Datum datum)
{
	const qs_sketch *sketch;

	if (VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		sketch = stored_sketch(probe, datum);
	else
	{
		SketchRead(&probe->reader, datum);
		sketch = probe->reader.sketch;
	}
	return sketch;
}

/* Is the noise that of the sketch of this row, as it is now? */
static bool
is_measured(const Probe *probe, const qs_sketch *sketch)
{
	const uint8 *header = probe->reader.header;

	if (!probe->measured || probe->noise_expanded != (header == NULL))
		return false;
	if (header)
		return memcmp(probe->noise_header, header, QS_HEADER_BYTES) == 0;
	return probe->noise_version == probe->reader.version && probe->noise_total == sketch->total;
}

static void
note_measured(Probe *probe, const qs_sketch *sketch)
{
	const uint8 *header = probe->reader.header;

	probe->measured = true;
	probe->noise_expanded = header == NULL;
	if (header)
		memcpy(probe->noise_header, header, QS_HEADER_BYTES);
	probe->noise_version = probe->reader.version;
	probe->noise_total = sketch->total;
}

/*
 * Noise of the sketch that ProbeSketch() gave for this row, measured for one
 * probe or for several.  Measuring takes milliseconds, so it is kept for the
 * next row: a header names the content well enough (parameters, total and
 * checksum) for a statistical quantity.
 */
const qs_noise *
ProbeNoise(Probe *probe, const qs_sketch *sketch, int64 probes)
{
	if (is_measured(probe, sketch) &&
		probe->noise.buckets == qs_noise_buckets(sketch, (uint64) probes))
		return &probe->noise;
	probe->measured = probe->asked = false;
	MemoryContextReset(probe->noise_context);
	SketchCheck(qs_noise_init(&probe->noise, sketch, (uint64) probes,
							  ContextMemory(probe->noise_context, &probe->noise_memory)));
	note_measured(probe, sketch);
	return &probe->noise;
}

/* The error of that sketch, likewise kept while all rows ask for the same. */
int64
ProbeError(Probe *probe, const qs_sketch *sketch, double confidence, int64 probes)
{
	const qs_noise *noise = ProbeNoise(probe, sketch, probes);

	if (!probe->asked || probe->confidence != confidence || probe->probes != probes)
	{
		probe->error = qs_noise_error(noise, confidence, (uint64) probes);
		probe->confidence = confidence;
		probe->probes = probes;
		probe->asked = true;
	}
	return probe->error;
}
