/*
 * probe.c
 *		Looking up keys in sketches: what is kept from row to row.
 *
 * A sketch of 1 MB is stored out of line, and fetching it costs some hundred
 * times an estimate.  A query that looks up many keys in one stored sketch
 * therefore must fetch it once, also when it comes anew with each row of a
 * join.  It is recognized by its toast pointer: the value behind one never
 * changes.
 *
 * src/pg/probe.c
 */
#include "pg/probe.h"

#include "utils/memutils.h"

/* The probe of the calling expression. */
Probe *
ProbeOf(FunctionCallInfo fcinfo)
{
	FmgrInfo *flinfo = fcinfo->flinfo;

	if (flinfo->fn_extra == NULL)
	{
		Probe *probe = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(Probe));

		probe->context =
			AllocSetContextCreate(flinfo->fn_mcxt, "qsketch probe", ALLOCSET_SMALL_SIZES);
		flinfo->fn_extra = probe;
	}
	return flinfo->fn_extra;
}

/* Learn the type of the keys. */
void
ProbeSetKey(Probe *probe, Oid type, Oid collation)
{
	if (probe->key.type != type || probe->key.input_collation != collation)
		KeyTypeInit(&probe->key, type, collation);
}

/* Forget the last sketch and note the next. */
static void
note_sketch(Probe *probe, const char *toast_id)
{
	MemoryContextReset(probe->context);
	probe->kept = false;
	probe->seen = true;
	memcpy(probe->toast_id, toast_id, TOAST_ID_BYTES);
}

/* A sketch stored out of line. */
static const qs_sketch *
stored_sketch(Probe *probe, Datum datum)
{
	const char *toast_id = DatumGetPointer(datum);
	bool same = probe->seen && memcmp(probe->toast_id, toast_id, TOAST_ID_BYTES) == 0;

	if (same && probe->kept)
		return &probe->copy->sketch;
	SketchRead(&probe->reader, datum);
	if (!same)
	{
		note_sketch(probe, toast_id);
		return probe->reader.sketch;
	}
	probe->copy = ExpandedCopy(probe->context, probe->reader.sketch);
	probe->kept = true;
	SketchReadEnd(&probe->reader);
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
