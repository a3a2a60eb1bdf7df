/*
 * sketch_distinct.c
 *		qsketch_distinct: how many distinct keys a sketch has.
 *
 * src/pg/sketch_distinct.c
 */
#include "sketch/distinct.h"
#include "pg/sketch_distinct.h"
#include "pg/sketch_state.h"
#include "pgbase/row.h"

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
