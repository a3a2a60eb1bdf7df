/*
 * sketch_new_for.c
 *		qsketch_new_for: finds the smallest sketch for an error.
 *
 * src/pg/sketch_new_for.c
 */
#include <math.h>

#include "sketch/measure.h"
#include "pg/sketch_state.h"
#include "pgbase/value.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* The load that the new sketch will hold, and the largest error that the user allows. */
typedef struct Wanted
{
	double rows;
	qs_load load;
	double error;
	double confidence;
} Wanted;

/*
 * Read the weights of a sample of keys, and estimate the total weight of all keys from the average.
 */
static void
read_weights(ArrayType *array, qs_load *load)
{
	int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const int64 *weight = (const int64 *) ARR_DATA_PTR(array);
	double sum = 0;
	int i;

	if (count == 0 || array_contains_nulls(array))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("weights must be those of some keys, without NULL"),
						errhint("Pass the sums of at least a thousand keys, picked at random.")));
	for (i = 0; i < count; i++)
	{
		if (weight[i] < 0 || weight[i] > QS_FORECAST_WEIGHT)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("weights must be between 0 and " INT64_FORMAT ", not " INT64_FORMAT,
							QS_FORECAST_WEIGHT, weight[i])));
		sum += (double) weight[i];
	}
	load->weight = weight;
	load->weights = (uint64) count;
	load->total = sum / count * load->keys;
}

static void
read_wanted(FunctionCallInfo fcinfo, Wanted *wanted)
{
	int64 rows = PG_GETARG_INT64(0);
	int64 keys = PG_ARGISNULL(4) ? rows : PG_GETARG_INT64(4);

	if (rows < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("rows must be at least 1, not " INT64_FORMAT, rows)));
	if (keys < 1 || keys > rows)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("distinct_keys must be between 1 and the number of rows, " INT64_FORMAT
						", not " INT64_FORMAT,
						rows, keys)));
	wanted->rows = (double) rows;
	wanted->load = (qs_load){ .total = (double) rows, .keys = (double) keys };
	if (!PG_ARGISNULL(5))
		read_weights(PG_GETARG_ARRAYTYPE_P(5), &wanted->load);
	wanted->error = PG_GETARG_FLOAT8(1);
	wanted->confidence = CheckConfidence(PG_GETARG_FLOAT8(2), false);
	if (!(wanted->error >= 0))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("error must be at least 0, not %g", wanted->error),
						errhint("It is the number of rows, or the weight, by which estimates may "
								"be too large.")));
	if (wanted->error > 0 && wanted->error < 1)
		ereport(NOTICE,
				(errmsg("an error of %g is less than one row and asks for exact estimates",
						wanted->error),
				 errhint("The error is a number of rows, or a weight. If this share of all was "
						 "meant, give %g.",
						 wanted->error * wanted->load.total)));
}

static void
forecast(qs_forecast *forecast, const qs_params *params, const Wanted *wanted)
{
	qb_memory memory;

	CHECK_FOR_INTERRUPTS();
	SketchCheck(qs_forecast_make(forecast, params, &wanted->load, wanted->confidence,
								 ContextMemory(CurrentMemoryContext, &memory)));
}

/*
 * Find the smallest size that meets the wanted error, and return the size's forecast in *found.
 * The error falls as the size grows.  False: no size meets the error, and *params has the largest
 * size.
 */
static bool
find_size(qs_params *params, qs_forecast *found, int structure, const Wanted *wanted)
{
	uint64 low = QS_SIZE_MIN;
	uint64 high = QS_SIZE_MAX;

	SketchParamsOf(params, structure, high);
	while (VARHDRSZ + qs_dense_size(params, false) > MaxAllocSize)
		SketchParamsOf(params, structure, high /= 2);
	forecast(found, params, wanted);
	if (found->error > wanted->error)
		return false;
	while (low < high)
	{
		uint64 middle = UINT64CONST(1)
						<< ((pg_leftmost_one_pos64(low) + pg_leftmost_one_pos64(high)) / 2);

		SketchParamsOf(params, structure, middle);
		forecast(found, params, wanted);
		if (found->error <= wanted->error)
			high = middle;
		else
			low = 2 * middle;
	}
	SketchParamsOf(params, structure, high);
	forecast(found, params, wanted);
	return true;
}

static void
raise_no_size(const qs_params *params, const qs_forecast *best, const Wanted *wanted)
{
	ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					errmsg("no sketch of structure %s has an error of %g after %.0f rows",
						   qs_structure_name(params->structure), wanted->error, wanted->rows),
					errdetail("One of size %s is expected to have an error of %.0f.",
							  SketchSizeText(params), ceil(best->error)),
					errhint("Allow a larger error or a smaller confidence, or spread the rows over "
							"several sketches.")));
}

/*
 * Find the structure that needs the least memory: multilevel or warp.  If the caller gives weights,
 * the structure may also be thread.  False: no structure meets the wanted error.
 */
static bool
find_structure(qs_params *params, qs_forecast *found, const Wanted *wanted)
{
	static const int structures[] = { QS_MULTILEVEL, QS_WARP, QS_THREAD };
	int count = wanted->load.weight ? lengthof(structures) : lengthof(structures) - 1;
	bool fits = find_size(params, found, structures[0], wanted);
	int i;

	for (i = 1; i < count; i++)
	{
		qs_params other;
		qs_forecast its;

		if (!find_size(&other, &its, structures[i], wanted) ||
			(fits && its.table_bytes >= found->table_bytes))
			continue;
		*params = other;
		*found = its;
		fits = true;
	}
	return fits;
}

static bool
is_auto(const text *name)
{
	return VARSIZE_ANY_EXHDR(name) == 4 && memcmp(VARDATA_ANY(name), "auto", 4) == 0;
}

/* qsketch_new_for(rows, error, confidence, structure, distinct_keys, weights): an empty sketch. */
PG_FUNCTION_INFO_V1(qsketch_new_for);
Datum
qsketch_new_for(PG_FUNCTION_ARGS)
{
	qs_forecast found;
	qs_params params;
	qs_sketch sketch;
	Wanted wanted;
	text *structure;
	bool fits;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		PG_RETURN_NULL();
	structure = PG_GETARG_TEXT_PP(3);
	read_wanted(fcinfo, &wanted);
	fits = is_auto(structure)
			   ? find_structure(&params, &found, &wanted)
			   : find_size(&params, &found, SketchStructureFromText(structure), &wanted);
	if (!fits)
		raise_no_size(&params, &found, &wanted);
	qs_init(&sketch, &params, NULL);
	PG_RETURN_POINTER(SketchFlatten(&sketch));
}
