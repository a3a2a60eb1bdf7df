/*
 * sketch_functions.c
 *		Functions of sketches except estimates: change, merge, fold, facts, sizes of joins.
 *
 * src/pg/sketch_functions.c
 */
#include "pg/sketch_state.h"

#include "gpu/sketch_gpu.h"
#include "pgbase/keyread.h"
#include "pgbase/value.h"
#include "sketch/moments.h"
#include "sketch/sf.h"
#include "utils/builtins.h"

#if PG_VERSION_NUM >= 180000
#include "nodes/primnodes.h"
#include "nodes/supportnodes.h"
#endif

/*
 * ---- changing a sketch ----
 *
 * The functions qsketch_sf_...() return a new flat value.  The other functions return a read-write
 * expanded object, unless an argument is NULL.  If the first argument is a read-write expanded
 * object, this object is changed in place.  Any other first argument is copied, and the copy is
 * changed.  Stored values never change.
 */

#define KEY_ARGUMENT    1
#define WEIGHT_ARGUMENT 2

/*
 * Add (sign 1) or remove (sign -1) the key in the arguments.  A NULL key or weight changes nothing.
 * A NULL sketch gives NULL.  The object's "keyed.key" is not set, because only transition functions
 * use it.
 */
static Datum
add_key(FunctionCallInfo fcinfo, int sign)
{
	bool has_weight = PG_NARGS() > WEIGHT_ARGUMENT;
	int64 weight = 1;
	SketchState *expanded;
	NewKey key;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(KEY_ARGUMENT) || (has_weight && PG_ARGISNULL(WEIGHT_ARGUMENT)))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	if (has_weight)
		weight = SketchCheckWeight(PG_GETARG_INT64(WEIGHT_ARGUMENT));
	expanded = SketchForUpdate(NULL, PG_GETARG_DATUM(0));
	KeyNewArgument(&key, fcinfo, KEY_ARGUMENT, &expanded->sketch.keys, &sketch_key_holder);
	SketchAddNow(expanded, key.fingerprint, sign * weight);
	qb_keys_take(&expanded->sketch.keys, &key.type.keys);
	return StateDatum(&expanded->keyed);
}

/*
 * Planner support of qsketch_add, qsketch_remove and qtop_add.  From PostgreSQL 18 on, PL/pgSQL may
 * then pass the variable in sk := qsketch_add(sk, k) as a read-write object, which the function
 * changes in place.  If the function raises an error, the variable is unchanged.
 */
PG_FUNCTION_INFO_V1(qsketch_modify_support);
Datum
qsketch_modify_support(PG_FUNCTION_ARGS)
{
#if PG_VERSION_NUM >= 180000
	SupportRequestModifyInPlace *request = (SupportRequestModifyInPlace *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestModifyInPlace))
	{
		Param *sketch = (Param *) linitial(request->args);

		if (sketch && IsA(sketch, Param) && sketch->paramkind == PARAM_EXTERN &&
			sketch->paramid == request->paramid)
			PG_RETURN_POINTER(sketch);
	}
#endif
	PG_RETURN_POINTER(NULL);
}

SQL_FUNCTION(qsketch_add, add_key(fcinfo, 1));
SQL_FUNCTION(qsketch_remove, add_key(fcinfo, -1));

/* Merge or subtract the second sketch: "operation" is qs_merge() or qs_subtract(). */
static Datum
combine(FunctionCallInfo fcinfo, qb_status (*operation)(qs_sketch *, const qs_sketch *))
{
	SketchReader reader;
	SketchState *expanded;

	SketchReadAsStored(&reader, PG_GETARG_DATUM(1));
	expanded = SketchForUpdate(NULL, PG_GETARG_DATUM(0));
	SketchCheckMergeable(&expanded->sketch, reader.sketch);
	SketchMaterialize(expanded);
	SketchCheck(operation(&expanded->sketch, reader.sketch));
	SketchReadEnd(&reader);
	return StateDatum(&expanded->keyed);
}

static Datum
merge(FunctionCallInfo fcinfo)
{
	return combine(fcinfo, qs_merge);
}

static Datum
subtract(FunctionCallInfo fcinfo)
{
	return combine(fcinfo, qs_subtract);
}

SQL_FUNCTION(qsketch_merge, MergeUnlessNull(fcinfo, merge));
SQL_FUNCTION(qsketch_subtract, SubtractUnlessNull(fcinfo, subtract));

/* qsketch_fold(qsketch, size): the sketch with its counts in fewer buckets. */
PG_FUNCTION_INFO_V1(qsketch_fold);
Datum
qsketch_fold(PG_FUNCTION_ARGS)
{
	SketchState *expanded = SketchForUpdate(NULL, PG_GETARG_DATUM(0));
	uint64 n = SketchFoldedN(&expanded->sketch.params, PG_GETARG_TEXT_PP(1));

	SketchMaterialize(expanded);
	SketchCheck(qs_fold(&expanded->sketch, n));
	return StateDatum(&expanded->keyed);
}

/* Make the device part, the host part or the full sketch of an sf sketch. */
static Datum
part(FunctionCallInfo fcinfo, qs_part wanted)
{
	SketchReader reader;
	qs_sketch sketch;
	qb_memory memory;
	qb_status status;
	struct varlena *result;

	SketchRead(&reader, PG_GETARG_DATUM(0));
	status =
		qs_sf_part(&sketch, reader.sketch, wanted, ContextMemory(CurrentMemoryContext, &memory));
	if (status == QB_WRONG_PART)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("sketch of structure %s has no such part",
						qs_structure_name(reader.sketch->params.structure)),
				 errhint("Device and host part are taken from a full sf sketch, and a full one is "
						 "made from a host part.")));
	SketchCheck(status);
	result = SketchFlatten(&sketch);
	qs_free(&sketch);
	SketchReadEnd(&reader);
	PG_RETURN_POINTER(result);
}

SQL_FUNCTION(qsketch_sf_device, part(fcinfo, QS_PART_DEVICE));
SQL_FUNCTION(qsketch_sf_host, part(fcinfo, QS_PART_HOST));
SQL_FUNCTION(qsketch_sf_full, part(fcinfo, QS_PART_FULL));

/* ---- facts about a whole sketch ---- */

typedef Datum (*Answer)(FunctionCallInfo fcinfo, const qs_sketch *sketch);

/* Return what "answer" computes from the sketch in the first argument. */
static Datum
ask(FunctionCallInfo fcinfo, Answer answer)
{
	SketchReader reader;
	Datum result;

	SketchReadAsStored(&reader, PG_GETARG_DATUM(0));
	result = answer(fcinfo, reader.sketch);
	SketchReadEnd(&reader);
	return result;
}

/*
 * Return what "answer" computes from the sketch.  If the sketch is stored out of line, "answer"
 * receives only its header.
 */
static Datum
ask_header(FunctionCallInfo fcinfo, Answer answer)
{
	qs_sketch view;

	return SketchOpenStored(&view, PG_GETARG_DATUM(0)) ? answer(fcinfo, &view)
													   : ask(fcinfo, answer);
}

static Datum
total_of(FunctionCallInfo fcinfo, const qs_sketch *sketch)
{
	return Int64GetDatum(sketch->total);
}

SQL_FUNCTION(qsketch_total, ask_header(fcinfo, total_of));

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

/* Return the name of the encoding in which the sketch is stored, or would be stored. */
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

/*
 * Fill the columns of the layout.  A thread sketch has rows of n counters.  A sketch of any other
 * structure has n buckets.
 */
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

static Datum
info_of(FunctionCallInfo fcinfo, const qs_sketch *sk)
{
	Datum values[INFO_COLUMNS] = { 0 };
	bool nulls[INFO_COLUMNS] = { 0 };
	const qs_params *p = &sk->params;

	values[INFO_STRUCTURE] = CStringGetTextDatum(qs_structure_name(p->structure));
	values[INFO_SIZE] = Int64GetDatum((int64) (qs_block_bytes(p) * p->n));
	values[INFO_DEPTH] = Int32GetDatum(p->depth);
	values[INFO_SEED] = Int64GetDatum((int64) p->seed);
	values[INFO_COUNTER_BYTES] = Int32GetDatum(sk->total >= QS_WIDE_TOTAL ? 8 : 4);
	values[INFO_TOTAL] = Int64GetDatum(sk->total);
	values[INFO_FORM] = CStringGetTextDatum(form_name(sk));
	values[INFO_PART] = CStringGetTextDatum(part_name(sk));
	SetText(values, nulls, INFO_KEY_FAMILY, KeysName(&sk->keys));
	nulls[INFO_COUNTER_BYTES] = sk->encoding == QS_EXPLICIT;
	fill_layout(p, values, nulls);
	return ReturnRow(fcinfo, values, nulls);
}

SQL_FUNCTION(qsketch_info, ask_header(fcinfo, info_of));

/*
 * Return a row of the estimated number of distinct keys and its standard error.  NULLs: the sketch
 * is too full for an estimate.
 */
Datum
SketchDistinctRow(FunctionCallInfo fcinfo, const qs_sketch *sketch)
{
	qb_memory memory;
	qs_distinct found = qs_distinct_keys(sketch, ContextMemory(CurrentMemoryContext, &memory));
	Datum values[] = { Float8GetDatum(found.estimate), Float8GetDatum(found.standard_error) };
	bool nulls[] = { !found.known, !found.known };

	return ReturnRow(fcinfo, values, nulls);
}

/* qsketch_distinct(qsketch): estimated number of distinct keys, and its standard error. */
SQL_FUNCTION(qsketch_distinct, ask(fcinfo, SketchDistinctRow));

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

/* qsketch_inner_product(qsketch, qsketch): estimated size of a join, and its standard error. */
PG_FUNCTION_INFO_V1(qsketch_inner_product);
Datum
qsketch_inner_product(PG_FUNCTION_ARGS)
{
	SketchReader a, b;
	Datum values[2];
	qs_product product;
	qb_memory memory;

	SketchReadAsStored(&a, PG_GETARG_DATUM(0));
	SketchReadAsStored(&b, PG_GETARG_DATUM(1));
	SketchCheckProduct(a.sketch, b.sketch);
	check_has_product(a.sketch);
	SketchCheck(qs_inner_product(a.sketch, b.sketch, ContextMemory(CurrentMemoryContext, &memory),
								 &product));
	values[0] = Float8GetDatum(product.estimate);
	values[1] = Float8GetDatum(product.standard_error);
	SketchReadEnd(&a);
	SketchReadEnd(&b);
	PG_RETURN_DATUM(ReturnRow(fcinfo, values, NULL));
}

/* ---- where lookups find the parts of a sketch: in this process, or on a GPU ---- */

/* Return the number of the GPU that has cached a value, or -1. */
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

/* Return rows for the tables of a dense sketch.  The fat table of sf is never on a GPU. */
static void
put_tables(FunctionCallInfo fcinfo, const qs_sketch *sk, int gpu)
{
	const qs_params *p = &sk->params;
	uint64 extra = qs_extra_bytes(p, sk->wide);

	if (qs_has_fat(p->structure))
	{
		if (qs_has_table(p))
			put_part(fcinfo, "slim", gpu, qs_table_bytes(p, sk->wide));
		if (qs_has_extra(p))
			put_part(fcinfo, "fat", -1, extra);
	}
	else if (qs_has_high(p->structure))
	{
		put_part(fcinfo, "low", gpu, qs_table_bytes(p, sk->wide));
		put_part(fcinfo, "high", gpu, extra * sk->extra_used);
	}
	else
		put_part(fcinfo, "table", gpu, qs_table_bytes(p, sk->wide));
}

/*
 * qsketch_location(qsketch): where lookups find each part of a sketch.  A part is on the GPU that
 * has cached the part, or in this process.
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
