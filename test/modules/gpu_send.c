/*
 * gpu_send.c
 *		Adds batches of keys to a sketch as fast as a process can send them, for tests and a
 *		benchmark.
 *
 * The batches are in memory already, and no rows are read.  bench-gpu-ring.sh uses this module.
 *
 *	gpu_send(seed qsketch, keys bigint[], times int)	the seed with the keys added "times" times
 *
 * The seed must be a sketch of integer keys.
 *
 * test/modules/gpu_send.c
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pg/sketch_state.h"
#include "utils/array.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(gpu_send);

/* Returns the address of a function of the extension, to which this module is not linked. */
static void *
own_function(const char *name)
{
	return (void *) load_external_function("$libdir/qsketch", name, true, NULL);
}

static void
check_keys(const ArrayType *keys)
{
	if (ARR_ELEMTYPE(keys) != INT8OID || ARR_NDIM(keys) != 1 || array_contains_nulls((void *) keys))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("keys must be an array of bigint without NULLs")));
}

Datum
gpu_send(PG_FUNCTION_ARGS)
{
	__typeof__(SketchForUpdate) *for_update = own_function("SketchForUpdate");
	__typeof__(SketchChooseEngine) *choose = own_function("SketchChooseEngine");
	ArrayType *keys = PG_GETARG_ARRAYTYPE_P(1);
	int32 times = PG_GETARG_INT32(2);
	SketchState *state;
	int32 i;

	check_keys(keys);
	state = for_update(NULL, PG_GETARG_DATUM(0));
	choose(state, &(StateWork){ .processes = 1 });
	for (i = 0; i < times; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (state->engine->insert(&state->sketch, (const uint64 *) ARR_DATA_PTR(keys), NULL,
								  ARR_DIMS(keys)[0]) != QB_OK)
			elog(ERROR, "could not add keys");
	}
	return EOHPGetRWDatum(&state->keyed.header);
}
