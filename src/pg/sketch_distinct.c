/*
 * sketch_distinct.c
 *		qsketch_distinct: how many distinct keys a sketch has.
 *
 * src/pg/sketch_distinct.c
 */
#include "sketch/distinct.h"
#include "pg/sketch_distinct.h"
#include "pg/sketch_state.h"

#include "access/htup_details.h"
#include "funcapi.h"

/* A row of the estimate and its standard error; NULLs if the sketch is too full to tell. */
Datum
SketchDistinctRow(FunctionCallInfo fcinfo, const qs_sketch *sketch)
{
	TupleDesc descriptor;
	qb_memory memory;
	qs_distinct found = qs_distinct_keys(sketch, ContextMemory(CurrentMemoryContext, &memory));
	Datum values[] = { Float8GetDatum(found.estimate), Float8GetDatum(found.standard_error) };
	bool nulls[] = { !found.known, !found.known };

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

/* qsketch_distinct(qsketch): estimate and standard error. */
PG_FUNCTION_INFO_V1(qsketch_distinct);
Datum
qsketch_distinct(PG_FUNCTION_ARGS)
{
	SketchReader reader;
	Datum row;

	SketchRead(&reader, PG_GETARG_DATUM(0));
	row = SketchDistinctRow(fcinfo, reader.sketch);
	SketchReadEnd(&reader);
	PG_RETURN_DATUM(row);
}
