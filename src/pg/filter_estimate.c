/*
 * filter_estimate.c
 *		qfilter_estimate, qfilter_bounds and qfilter_contains.
 *
 * src/pg/filter_estimate.c
 */
#include "pg/filter_probe.h"
#include "pgbase/errors.h"
#include "pgbase/row.h"

#include "utils/builtins.h"
#include "utils/float.h"

#define KEY_ARGUMENT    1
#define METHOD_ARGUMENT 2

static const char *const methods[] = { "corrected", "unbiased", "paper" };

/* The method that an argument names. */
FilterMethod
FilterMethodArgument(FunctionCallInfo fcinfo, int argument)
{
	text *name = PG_GETARG_TEXT_PP(argument);
	int i;

	for (i = 0; i < lengthof(methods); i++)
		if (VARSIZE_ANY_EXHDR(name) == strlen(methods[i]) &&
			memcmp(VARDATA_ANY(name), methods[i], strlen(methods[i])) == 0)
			return i;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("unrecognized method: \"%s\"", text_to_cstring(name)),
					errhint("Methods are corrected, unbiased and paper.")));
}

/* What all estimates from a filter share.  An error for a filter that has no estimates. */
void
FilterScale(const qf_filter *filter, FilterMethod method, qf_scale *scale)
{
	if (qf_is_bloom(&filter->params))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a Bloom filter does not tell frequencies"),
				 errhint("Use qfilter_contains to ask whether a key was there, or a filter made "
						 "by qfilter_new.")));
	if (method == FILTER_PAPER && filter->rows == QF_ROWS_UNKNOWN)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("method paper needs the number of rows, which this filter does not "
							   "know"),
						errhint("A filter of rows with ids counts none; use method corrected.")));
	qf_scale_make(scale, filter);
}

/*
 * If all positions are set, the estimate is infinite: a finite number meaning "this
 * often or more" would be ranked among the estimates of other keys.
 */
double
FilterEstimate(const qf_scale *scale, FilterMethod method, uint32 set)
{
	if (qf_saturated(scale, set))
		return get_float8_infinity();
	if (method == FILTER_PAPER)
		return qf_estimate_paper(scale, set);
	return method == FILTER_UNBIASED ? qf_estimate(scale, set) : Max(0, qf_estimate(scale, set));
}

/* Fingerprint of the key argument, after a check that the filter holds such keys. */
static uint64
key_argument(FunctionCallInfo fcinfo, FilterProbe *probe, const qf_filter *filter)
{
	return KeyProbeArgument(&probe->keys, fcinfo, KEY_ARGUMENT, &filter->keys,
							FilterKeyHolder(filter));
}

/* How many positions of the key argument are set, and what estimates from its filter share. */
static uint32
set_positions(FunctionCallInfo fcinfo, FilterMethod method, qf_scale *scale)
{
	FilterProbe *probe = FilterProbeOf(fcinfo);
	Datum datum = PG_GETARG_DATUM(0);
	qf_filter view;
	bool parts = FilterInParts(probe, datum, &view);
	const qf_filter *filter = parts ? &view : FilterWhole(probe, datum);
	uint64 fingerprint;
	uint32 set;

	FilterScale(filter, method, scale);
	fingerprint = key_argument(fcinfo, probe, filter);
	if (parts)
		return FilterPartsSet(datum, filter, fingerprint, false);
	qf_engine_cpu.query(filter, &fingerprint, 1, &set);
	return set;
}

/* qfilter_estimate(qfilter, key, method): about how often the key came. */
PG_FUNCTION_INFO_V1(qfilter_estimate);
Datum
qfilter_estimate(PG_FUNCTION_ARGS)
{
	FilterMethod method = FilterMethodArgument(fcinfo, METHOD_ARGUMENT);
	qf_scale scale;
	uint32 set = set_positions(fcinfo, method, &scale);

	PG_RETURN_FLOAT8(FilterEstimate(&scale, method, set));
}

/* qfilter_contains(qfilter, key): are all positions of the key set? */
PG_FUNCTION_INFO_V1(qfilter_contains);
Datum
qfilter_contains(PG_FUNCTION_ARGS)
{
	FilterProbe *probe = FilterProbeOf(fcinfo);
	Datum datum = PG_GETARG_DATUM(0);
	qf_filter view;
	const qf_filter *filter;
	uint64 fingerprint;

	if (FilterInParts(probe, datum, &view))
	{
		fingerprint = key_argument(fcinfo, probe, &view);
		PG_RETURN_BOOL(FilterPartsSet(datum, &view, fingerprint, true) == view.params.k);
	}
	filter = FilterWhole(probe, datum);
	fingerprint = key_argument(fcinfo, probe, filter);
	PG_RETURN_BOOL(qf_has(filter, fingerprint));
}

/* qfilter_bounds(qfilter, key, confidence): lower bound, estimate, upper bound. */
PG_FUNCTION_INFO_V1(qfilter_bounds);
Datum
qfilter_bounds(PG_FUNCTION_ARGS)
{
	double deviations = qf_deviations(CheckConfidence(PG_GETARG_FLOAT8(2), true));
	Datum values[3];
	bool nulls[lengthof(values)] = { 0 };
	qf_bounds bounds;
	qf_scale scale;

	bounds = qf_bounds_of(&scale, set_positions(fcinfo, FILTER_CORRECTED, &scale), deviations);
	values[0] = Float8GetDatum(bounds.lower);
	values[1] = Float8GetDatum(bounds.estimate);
	values[2] = Float8GetDatum(bounds.upper);
	return ReturnRow(fcinfo, values, nulls);
}
