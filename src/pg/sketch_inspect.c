/*
 * sketch_inspect.c
 *		What one sketch tells as a whole: qsketch_total, qsketch_info and qsketch_distinct; and
 *		sizes of joins: qsketch_inner_product and qsketch_second_moment.
 *
 * src/pg/sketch_inspect.c
 */
#include "gpu/sketch_gpu.h"
#include "pg/sketch_state.h"
#include "pgbase/keyfamily.h"
#include "pgbase/value.h"
#include "sketch/distinct.h"
#include "sketch/product.h"

#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(qsketch_total);
Datum
qsketch_total(PG_FUNCTION_ARGS)
{
	Datum datum = PG_GETARG_DATUM(0);
	SketchReader reader;
	int64 total;

	if (SketchOpenStored(&reader.view, datum))
		PG_RETURN_INT64(reader.view.total);
	SketchReadAsStored(&reader, datum);
	total = reader.sketch->total;
	SketchReadEnd(&reader);
	PG_RETURN_INT64(total);
}

/* Columns of qsketch_info(), in the order of its declaration. */
enum
{
	INFO_STRUCTURE,
	INFO_SIZE,
	INFO_DEPTH,
	INFO_WIDTH,
	INFO_BUCKETS,
	INFO_MASKS,
	INFO_Z,
	INFO_SEED,
	INFO_COUNTER_BYTES,
	INFO_TOTAL,
	INFO_FORM,
	INFO_PART,
	INFO_KEY_FAMILY,
	INFO_COLUMNS
};

/* The encoding in which the sketch is stored, or will be. */
static const char *
form_name(const qs_sketch *sk)
{
	static const char *const name[] = {
		[QS_EXPLICIT] = "explicit", [QS_DENSE] = "dense", [QS_COMPACT] = "compact"
	};

	return name[sk->view ? (qs_encoding) sk->encoding : qs_flat_of(sk).encoding];
}

static const char *
part_name(const qs_sketch *sk)
{
	static const char *const name[] = { "full", "device", "host" };

	return name[sk->params.part];
}

/* Size columns: a thread sketch has rows of n counters, all others have n buckets of m. */
static void
fill_layout(const qs_params *p, Datum *values, bool *nulls)
{
	bool thread = qs_has_rows(p->structure);

	values[INFO_WIDTH] = Int64GetDatum(thread ? (int64) p->n : qs_bucket_width(p->structure));
	values[INFO_BUCKETS] = Int64GetDatum((int64) p->n);
	values[INFO_MASKS] = Int32GetDatum((int32) qs_mask_count(p));
	values[INFO_Z] = Int32GetDatum(p->z);
	nulls[INFO_BUCKETS] = thread;
	nulls[INFO_MASKS] = thread;
	nulls[INFO_Z] = !qs_has_fat(p->structure);
}

static void
fill_info(const qs_sketch *sk, Datum *values, bool *nulls)
{
	const qs_params *p = &sk->params;

	values[INFO_STRUCTURE] = CStringGetTextDatum(qs_structure_name(p->structure));
	values[INFO_SIZE] = Int64GetDatum((int64) (qs_block_bytes(p) * p->n));
	values[INFO_DEPTH] = Int32GetDatum(p->depth);
	values[INFO_SEED] = Int64GetDatum((int64) p->seed);
	values[INFO_COUNTER_BYTES] = Int32GetDatum(sk->total >= QS_WIDE_TOTAL ? 8 : 4);
	values[INFO_TOTAL] = Int64GetDatum(sk->total);
	values[INFO_FORM] = CStringGetTextDatum(form_name(sk));
	values[INFO_PART] = CStringGetTextDatum(part_name(sk));
	SetText(values, nulls, INFO_KEY_FAMILY, KeyFamilyName(sk->keys.family));
	nulls[INFO_COUNTER_BYTES] = sk->encoding == QS_EXPLICIT;
	fill_layout(p, values, nulls);
}

PG_FUNCTION_INFO_V1(qsketch_info);
Datum
qsketch_info(PG_FUNCTION_ARGS)
{
	Datum values[INFO_COLUMNS] = { 0 };
	bool nulls[INFO_COLUMNS] = { 0 };
	SketchReader reader;

	if (SketchOpenStored(&reader.view, PG_GETARG_DATUM(0)))
		fill_info(&reader.view, values, nulls);
	else
	{
		SketchReadAsStored(&reader, PG_GETARG_DATUM(0));
		fill_info(reader.sketch, values, nulls);
		SketchReadEnd(&reader);
	}
	return ReturnRow(fcinfo, values, nulls);
}

/* ---- distinct keys ---- */

/* A row of the estimate and its standard error; NULLs if the sketch is too full to tell. */
Datum
SketchDistinctRow(FunctionCallInfo fcinfo, const qs_sketch *sketch)
{
	qb_memory memory;
	qs_distinct found = qs_distinct_keys(sketch, ContextMemory(CurrentMemoryContext, &memory));
	Datum values[] = { Float8GetDatum(found.estimate), Float8GetDatum(found.standard_error) };
	bool nulls[] = { !found.known, !found.known };

	return ReturnRow(fcinfo, values, nulls);
}

/* qsketch_distinct(qsketch): estimate and standard error. */
PG_FUNCTION_INFO_V1(qsketch_distinct);
Datum
qsketch_distinct(PG_FUNCTION_ARGS)
{
	SketchReader reader;
	Datum row;

	SketchReadAsStored(&reader, PG_GETARG_DATUM(0));
	row = SketchDistinctRow(fcinfo, reader.sketch);
	SketchReadEnd(&reader);
	PG_RETURN_DATUM(row);
}

/* ---- sizes of joins ---- */

static void
check_has_product(const qs_sketch *sk)
{
	if (!qs_has_product(sk))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("a device part of an sf sketch has no inner product"),
						errdetail("Its counters are maxima, which do not sum up."),
						errhint("Use the full sketch or its host part.")));
}

/* A row of the estimate and its standard error. */
static Datum
product_row(FunctionCallInfo fcinfo, const qs_sketch *a, const qs_sketch *b)
{
	Datum values[2];
	qs_product product;
	qb_memory memory;

	SketchCheck(qs_inner_product(a, b, ContextMemory(CurrentMemoryContext, &memory), &product));
	values[0] = Float8GetDatum(product.estimate);
	values[1] = Float8GetDatum(product.standard_error);
	return ReturnRow(fcinfo, values, NULL);
}

/* qsketch_inner_product(qsketch, qsketch): estimate and standard error. */
PG_FUNCTION_INFO_V1(qsketch_inner_product);
Datum
qsketch_inner_product(PG_FUNCTION_ARGS)
{
	SketchReader a, b;
	Datum result;

	SketchReadAsStored(&a, PG_GETARG_DATUM(0));
	SketchReadAsStored(&b, PG_GETARG_DATUM(1));
	SketchCheckProduct(a.sketch, b.sketch);
	check_has_product(a.sketch);
	result = product_row(fcinfo, a.sketch, b.sketch);
	SketchReadEnd(&a);
	SketchReadEnd(&b);
	PG_RETURN_DATUM(result);
}

/* qsketch_second_moment(qsketch): estimate and standard error of its product with itself. */
PG_FUNCTION_INFO_V1(qsketch_second_moment);
Datum
qsketch_second_moment(PG_FUNCTION_ARGS)
{
	SketchReader a;
	Datum result;

	SketchReadAsStored(&a, PG_GETARG_DATUM(0));
	check_has_product(a.sketch);
	result = product_row(fcinfo, a.sketch, a.sketch);
	SketchReadEnd(&a);
	PG_RETURN_DATUM(result);
}

/* ---- where the parts of a sketch are: in this process, or on a GPU ---- */

/* The GPU that has cached a value, or -1. */
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
put_part(FunctionCallInfo fcinfo, const char *part, int gpu, uint64 bytes)
{
	Datum values[3] = { CStringGetTextDatum(part),
						CStringGetTextDatum(gpu < 0 ? "host" : psprintf("GPU %d", gpu)),
						Int64GetDatum((int64) bytes) };

	PutRow(fcinfo, values, NULL);
}

/* Add rows for the tables of a dense sketch.  The fat table of sf is never on a GPU. */
static void
put_tables(FunctionCallInfo fcinfo, const qs_sketch *sk, int gpu)
{
	const qs_params *p = &sk->params;
	uint64 extra = sk->ops->extra_bytes(p, sk->wide);

	if (qs_has_fat(p->structure))
	{
		if (qs_has_table(p))
			put_part(fcinfo, "slim", gpu, sk->ops->table_bytes(p, sk->wide));
		if (qs_has_extra(p))
			put_part(fcinfo, "fat", -1, extra);
	}
	else if (qs_has_high(p->structure))
	{
		put_part(fcinfo, "low", gpu, sk->ops->table_bytes(p, sk->wide));
		put_part(fcinfo, "high", gpu, extra * sk->extra_used);
	}
	else
		put_part(fcinfo, "table", gpu, sk->ops->table_bytes(p, sk->wide));
}

/*
 * qsketch_location(qsketch): where lookups find each part of a sketch.  That is
 * a GPU if it is cached there.
 */
PG_FUNCTION_INFO_V1(qsketch_location);
Datum
qsketch_location(PG_FUNCTION_ARGS)
{
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
		put_part(fcinfo, "entries", -1, sk->used * sizeof(qs_entry));
	else if (sk->encoding == QS_COMPACT)
		put_part(fcinfo, "compact", gpu, sk->compact_bytes);
	else
		put_tables(fcinfo, sk, gpu);
	PG_RETURN_NULL();
}
