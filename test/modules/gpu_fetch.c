/*
 * gpu_fetch.c
 *		Brings the tables of a sketch back from the GPU, and does nothing else, for the benchmark of cached columns.
 *
 *	gpu_fetch(sketch qsketch)	1, when the tables are here
 *
 * test/modules/gpu_fetch.c
 */
#include "postgres.h"

#include "fmgr.h"
#include "pg/sketch_state.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(gpu_fetch);

/* A function of the extension; the module is loaded without linking to it. */
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

	/* any other value is here as a whole */
	if (state)
		materialize(state);
	PG_RETURN_INT64(1);
}
