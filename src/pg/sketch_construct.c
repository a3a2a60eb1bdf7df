/*
 * sketch_construct.c
 *		qsketch_new, and what it accepts as structure and size.
 *
 * src/pg/sketch_construct.c
 */
#include "pg/sketch_state.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#define DEFAULT_SIZE  (UINT64CONST(1) << 20)
#define DEFAULT_DEPTH 3
#define DEFAULT_Z     8
#define DEFAULT_MASKS 1024

/* The parameters that qsketch_new() chooses for a structure and a size. */
void
SketchParamsOf(qs_params *params, int structure, uint64 size)
{
	SketchCheck(
		qs_params_make(params, structure, size, DEFAULT_DEPTH, DEFAULT_Z, DEFAULT_MASKS, 0));
}

/* The parameters that qsketch_new() has without arguments. */
void
SketchDefaultParams(qs_params *params)
{
	SketchParamsOf(params, SKETCH_DEFAULT_STRUCTURE, DEFAULT_SIZE);
}

/* Bytes of a size such as '64kB', in the syntax of pg_size_bytes(). */
uint64
SketchSizeFromText(text *size)
{
	int64 bytes = DatumGetInt64(DirectFunctionCall1(pg_size_bytes, PointerGetDatum(size)));

	if (bytes < (int64) QS_SIZE_MIN || bytes > (int64) QS_SIZE_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size must be between 1kB and 512MB, not \"%s\"", text_to_cstring(size))));
	return bytes;
}

/* n of a sketch that is folded to this size. */
uint64
SketchFoldedN(const qs_params *params, text *size)
{
	qs_params folded = *params;

	folded.n = qs_params_n(params->structure, params->depth, SketchSizeFromText(size));
	if (folded.n < 1 || !qs_params_fold(params, &folded))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot fold sketch of size %s to \"%s\"", SketchSizeText(params),
							   text_to_cstring(size)),
						errhint("The size must be that of the sketch divided by a power of two.")));
	return folded.n;
}

/* "thread, warp, ... and sf" */
static char *
structure_names(void)
{
	StringInfoData names;
	int i;

	initStringInfo(&names);
	for (i = 1; i < QS_STRUCTURES; i++)
		appendStringInfo(&names, "%s%s",
						 i == 1                   ? ""
						 : i == QS_STRUCTURES - 1 ? " and "
												  : ", ",
						 qs_structure_name(i));
	return names.data;
}

int
SketchStructureFromText(text *name)
{
	int structure = qs_structure_by_name(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));

	if (structure == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("unrecognized structure: \"%s\"", text_to_cstring(name)),
						errhint("Structures are %s; a size alone is given by name, as in "
								"qsketch_new(size => '64kB').",
								structure_names())));
	return structure;
}

static void
check_range(const char *what, int32 value, int32 least, int32 most)
{
	if (value < least || value > most)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s must be between %d and %d, not %d", what, least, most, value)));
}

static void
check_masks(int32 masks)
{
	check_range("number of masks", masks, 1, QS_MASKS_MAX);
	if ((masks & (masks - 1)) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("number of masks must be a power of two, not %d", masks)));
}

/* qsketch_new(structure, size, depth, z, masks, seed): an empty sketch. */
PG_FUNCTION_INFO_V1(qsketch_new);
Datum
qsketch_new(PG_FUNCTION_ARGS)
{
	int structure = SketchStructureFromText(PG_GETARG_TEXT_PP(0));
	uint64 size = SketchSizeFromText(PG_GETARG_TEXT_PP(1));
	int32 depth = PG_GETARG_INT32(2);
	int32 z = PG_GETARG_INT32(3);
	int32 masks = PG_GETARG_INT32(4);
	uint64 seed = (uint64) PG_GETARG_INT64(5);
	qs_params params;
	qs_sketch sketch;

	check_range("depth", depth, 1, qs_depth_max(structure));
	check_range("z", z, QS_Z_MIN, QS_Z_MAX);
	check_masks(masks);
	SketchCheck(qs_params_make(&params, structure, size, depth, z, masks, seed));
	SketchCheckStorable(&params);
	qs_init(&sketch, &params, NULL);
	PG_RETURN_POINTER(SketchFlatten(&sketch));
}
