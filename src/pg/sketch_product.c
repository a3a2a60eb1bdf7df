/*
 * sketch_product.c
 *		qsketch_inner_product and qsketch_second_moment: sizes of joins.
 *
 * src/pg/sketch_product.c
 */
#include "sketch/product.h"
#include "pg/sketch_state.h"
#include "pgbase/row.h"

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
	bool nulls[2] = { false };
	Datum values[2];
	qs_product product;
	qb_memory memory;

	SketchCheck(qs_inner_product(a, b, ContextMemory(CurrentMemoryContext, &memory), &product));
	values[0] = Float8GetDatum(product.estimate);
	values[1] = Float8GetDatum(product.standard_error);
	return ReturnRow(fcinfo, values, nulls);
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
