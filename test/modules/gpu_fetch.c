/*
 * gpu_fetch.c
 *		Copies the tables of a sketch from the GPU to the host, and nothing else, for a
 *		benchmark.
 *
 *	gpu_fetch(sketch qsketch)	returns 1 when the tables are on the host
 *
 * test/modules/gpu_fetch.c
 */
#include "postgres.h"

#include "fmgr.h"
#include "pg/sketch_state.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(gpu_fetch);

/* Returns the address of a function of the extension, to which this module is not linked. */
static void *
own_function(const char *name)
{
	return (void *) load_external_function("$libdir/qsketch", name, true, NULL);
}

Datum
gpu_fetch(PG_FUNCTION_ARGS)
{
	__typeof__(SketchStateIn) *state_in = own_function("SketchStateIn");
	__typeof__(SketchMaterialize) *materialize = own_function("SketchMaterialize");
	SketchState *state = state_in(PG_GETARG_DATUM(0));

	/* SketchStateIn() returns NULL for a serialized value, which is on the host */
	if (state)
		materialize(state);
	PG_RETURN_INT64(1);
}
