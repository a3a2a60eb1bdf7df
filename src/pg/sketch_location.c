/*
 * sketch_location.c
 *		Where the parts of a sketch are: in this process, or on a GPU.
 *
 * src/pg/sketch_location.c
 */
#include "pg/sketch_state.h"
#include "pgbase/row.h"

#include "funcapi.h"
#include "gpu/sketch_gpu.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

/* The GPU that has a copy of a value, or -1. */
static int
gpu_of_value(Datum datum, bool stored)
{
	SketchReader reader;
	StoredName key;

	if (GpuStateNow() != GPU_READY)
		return -1;
	if (stored)
		return GpuNameStored(&gpu_stored_sketches, datum, &key) ? GpuOfCached(&key) : -1;
	SketchReadAsStored(&reader, datum);
	GpuNameBytes(&gpu_stored_sketches, reader.header, VARSIZE(reader.header - VARHDRSZ) - VARHDRSZ,
				 &key);
	SketchReadEnd(&reader);
	return GpuOfCached(&key);
}

static void
put_part(ReturnSetInfo *result, const char *part, int gpu, uint64 bytes)
{
	Datum values[3] = { CStringGetTextDatum(part),
						CStringGetTextDatum(gpu < 0 ? "host" : psprintf("GPU %d", gpu)),
						Int64GetDatum((int64) bytes) };
	bool nulls[3] = { 0 };

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Add rows for the tables of a dense sketch.  The fat table of sf is never on a GPU. */
static void
put_tables(ReturnSetInfo *result, const qs_sketch *sk, int gpu)
{
	const qs_params *p = &sk->params;
	uint64 extra = sk->ops->extra_bytes(p, sk->wide);

	if (qs_has_fat(p->structure))
	{
		if (qs_has_table(p))
			put_part(result, "slim", gpu, sk->ops->table_bytes(p, sk->wide));
		if (qs_has_extra(p))
			put_part(result, "fat", -1, extra);
	}
	else if (qs_has_high(p->structure))
	{
		put_part(result, "low", gpu, sk->ops->table_bytes(p, sk->wide));
		put_part(result, "high", gpu, extra * sk->extra_used);
	}
	else
		put_part(result, "table", gpu, sk->ops->table_bytes(p, sk->wide));
}

/*
 * qsketch_location(qsketch): where lookups find each part of a sketch.  That is a GPU
 * if it has a copy there.
 */
PG_FUNCTION_INFO_V1(qsketch_location);
Datum
qsketch_location(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum datum = PG_GETARG_DATUM(0);
	qs_sketch view;
	bool stored = SketchOpenStored(&view, datum);
	SketchReader reader;
	const qs_sketch *sk = &view;
	int gpu;

	ReturnRows(fcinfo);
	if (!stored)
	{
		SketchReadAsStored(&reader, datum);
		sk = reader.sketch;
	}
	gpu = SketchStateIn(datum) ? -1 : gpu_of_value(datum, stored);
	if (sk->encoding == QS_EXPLICIT)
		put_part(result, "entries", -1, sk->used * sizeof(qs_entry));
	else if (sk->encoding == QS_COMPACT)
		put_part(result, "compact", gpu, sk->compact_bytes);
	else
		put_tables(result, sk, gpu);
	PG_RETURN_NULL();
}
