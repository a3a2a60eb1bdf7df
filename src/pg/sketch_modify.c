/*
 * sketch_modify.c
 *		Adding to, removing from, merging, subtracting and folding sketches.
 *
 * Each function returns a read-write expanded object.  If its argument is one already,
 * it is changed in place; otherwise it is copied first.  Stored values never change.
 *
 * src/pg/sketch_modify.c
 */
#include "pgbase/keyread.h"
#include "pg/sketch_state.h"

#include "sketch/sf.h"
#include "utils/builtins.h"

#if PG_VERSION_NUM >= 180000
#include "nodes/primnodes.h"
#include "nodes/supportnodes.h"
#endif

#define KEY_ARGUMENT    1
#define WEIGHT_ARGUMENT 2

static Datum
expanded_result(SketchState *expanded)
{
	return StateDatum(&expanded->keyed);
}

/*
 * Add (sign 1) or remove (sign -1) the key in the arguments.  A NULL key or
 * weight changes nothing; a NULL sketch gives NULL.  The key's type is not recorded in the
 * object: only states of aggregates record it, for the keys that their transition function
 * passes.
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
	expanded->sketch.keys = key.type.keys;
	return expanded_result(expanded);
}

/*
 * Planner support of adding and removing, for sketches and for lists of top keys.  In
 * PL/pgSQL sk := qsketch_add(sk, k) may pass the variable itself, to be changed in place.
 * SketchForUpdate() does that.  If it raises an error, the variable is unchanged.
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

/* Merge or subtract the second sketch. */
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
	return expanded_result(expanded);
}

SQL_FUNCTION(qsketch_merge, combine(fcinfo, qs_merge));
SQL_FUNCTION(qsketch_subtract, combine(fcinfo, qs_subtract));

/* qsketch_fold(qsketch, size): the same counts in less memory. */
PG_FUNCTION_INFO_V1(qsketch_fold);
Datum
qsketch_fold(PG_FUNCTION_ARGS)
{
	SketchState *expanded = SketchForUpdate(NULL, PG_GETARG_DATUM(0));
	uint64 n = SketchFoldedN(&expanded->sketch.params, PG_GETARG_TEXT_PP(1));

	SketchMaterialize(expanded);
	SketchCheck(qs_fold(&expanded->sketch, n));
	return expanded_result(expanded);
}

/* The slim or fat part of an sf sketch. */
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
