/*
 * sketch_modify.c
 *		Adding to, removing from, merging, subtracting and folding sketches.
 *
 * Each function returns a read-write expanded object.  If its argument is one already,
 * it is changed in place; otherwise it is copied first.  Stored values never change.
 *
 * src/pg/sketch_modify.c
 */
#include "pgbase/keyexpr.h"
#include "pgbase/keytext.h"
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
 * Fingerprint of the key in the arguments.  "keys" becomes the kind of the sketch's
 * keys once this key is in it.  A literal is read as a key of the sketch's kind.  The
 * key's type is not recorded in the object: only states of aggregates record it, for
 * the keys that their transition function passes.
 */
static uint64
key_argument(FunctionCallInfo fcinfo, const SketchState *expanded, qb_keys *keys)
{
	Datum value = PG_GETARG_DATUM(KEY_ARGUMENT);
	KeyReader reader = { 0 };
	KeyArgument argument;
	KeyType key;

	KeyArgumentOf(&argument, fcinfo, KEY_ARGUMENT);
	KeyTypeInit(&key, argument.type, argument.collation);
	KeyTypeLearn(&key, value);
	*keys = expanded->sketch.keys;
	if (argument.literal && !KeyFits(&key, keys))
		return KeyReadText(&reader, CurrentMemoryContext, &expanded->sketch.keys,
						   &sketch_key_holder, &key, value);
	KeyFamilyCheckProbe(keys, &key, &sketch_key_holder);
	*keys = key.keys;
	return KeyFingerprint(&key, value);
}

/*
 * Add (sign 1) or remove (sign -1) the key in the arguments.  A NULL key or
 * weight changes nothing; a NULL sketch gives NULL.
 */
static Datum
add_key(FunctionCallInfo fcinfo, int sign)
{
	bool has_weight = PG_NARGS() > WEIGHT_ARGUMENT;
	int64 weight = 1;
	SketchState *expanded;
	uint64 fingerprint;
	qb_keys keys;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(KEY_ARGUMENT) || (has_weight && PG_ARGISNULL(WEIGHT_ARGUMENT)))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	if (has_weight)
		weight = SketchCheckWeight(PG_GETARG_INT64(WEIGHT_ARGUMENT));
	expanded = SketchForUpdate(NULL, PG_GETARG_DATUM(0));
	fingerprint = key_argument(fcinfo, expanded, &keys);
	SketchAddNow(expanded, fingerprint, sign * weight);
	expanded->sketch.keys = keys;
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

PG_FUNCTION_INFO_V1(qsketch_add);
Datum
qsketch_add(PG_FUNCTION_ARGS)
{
	return add_key(fcinfo, 1);
}

PG_FUNCTION_INFO_V1(qsketch_remove);
Datum
qsketch_remove(PG_FUNCTION_ARGS)
{
	return add_key(fcinfo, -1);
}

/* Merge or subtract the second sketch. */
static Datum
combine(FunctionCallInfo fcinfo, qb_status (*operation)(qs_sketch *, const qs_sketch *))
{
	SketchReader reader;
	SketchState *expanded;

	SketchReadAsStored(&reader, PG_GETARG_DATUM(1));
	expanded = SketchForUpdate(NULL, PG_GETARG_DATUM(0));
	SketchCheckMergeable(&expanded->sketch, reader.sketch);
	SketchSettle(expanded);
	SketchCheck(operation(&expanded->sketch, reader.sketch));
	SketchReadEnd(&reader);
	return expanded_result(expanded);
}

PG_FUNCTION_INFO_V1(qsketch_merge);
Datum
qsketch_merge(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, qs_merge);
}

PG_FUNCTION_INFO_V1(qsketch_subtract);
Datum
qsketch_subtract(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, qs_subtract);
}

/* qsketch_fold(qsketch, size): the same counts in less memory. */
PG_FUNCTION_INFO_V1(qsketch_fold);
Datum
qsketch_fold(PG_FUNCTION_ARGS)
{
	uint64 size = SketchSizeFromText(PG_GETARG_TEXT_PP(1));
	SketchState *expanded = SketchForUpdate(NULL, PG_GETARG_DATUM(0));
	qs_params *params = &expanded->sketch.params;
	uint64 n = qs_params_n(params->structure, params->depth, size);
	qb_status status;

	SketchSettle(expanded);
	status = qs_fold(&expanded->sketch, n);
	if (status == QB_NO_FOLD)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot fold sketch of size %s to \"%s\"", SketchSizeText(params),
							   text_to_cstring(PG_GETARG_TEXT_PP(1))),
						errhint("The size must be that of the sketch divided by a power of two.")));
	SketchCheck(status);
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

PG_FUNCTION_INFO_V1(qsketch_sf_device);
Datum
qsketch_sf_device(PG_FUNCTION_ARGS)
{
	return part(fcinfo, QS_PART_DEVICE);
}

PG_FUNCTION_INFO_V1(qsketch_sf_host);
Datum
qsketch_sf_host(PG_FUNCTION_ARGS)
{
	return part(fcinfo, QS_PART_HOST);
}

PG_FUNCTION_INFO_V1(qsketch_sf_full);
Datum
qsketch_sf_full(PG_FUNCTION_ARGS)
{
	return part(fcinfo, QS_PART_FULL);
}
