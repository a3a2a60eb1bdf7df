/*
 * filter_construct.c
 *		qfilter_new and qfilter_new_bloom: empty filters.
 *
 * src/pg/filter_construct.c
 */
#include "pg/filter_value.h"

#include "utils/builtins.h"

static void
check_fraction(const char *what, double value, double least, double most, const char *hint)
{
	if (!(value >= least && value <= most))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s must be between %g and %g, not %g", what, least, most, value),
						errhint("%s", hint)));
}

static int
preset_from_text(text *name)
{
	int preset = qf_preset_by_name(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));

	if (preset < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("unrecognized preset: \"%s\"", text_to_cstring(name)),
						errhint("Presets are balanced, compact, fast and paper.")));
	return preset;
}

static int
layout_from_text(text *name)
{
	int layout = qf_layout_by_name(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));

	if (layout < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("unrecognized layout: \"%s\"", text_to_cstring(name)),
						errhint("Layouts are blocked and standard.")));
	return layout;
}

/* Raise an error for parameters that are valid one by one, but not together. */
static void
check_request(qb_status status, const qf_request *request)
{
	if (status == QB_BAD_SIZE)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("filter for " INT64_FORMAT " rows and frequency " INT64_FORMAT
							   " with error %g would need more than %llu bits",
							   request->rows, request->frequency, request->error,
							   (unsigned long long) QF_BITS_MAX),
						errhint("Ask for a higher frequency, a greater error or fewer rows.")));
	if (status == QB_BAD_HASHES && request->k == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("preset paper needs the number of hashes"),
						errhint("Give k, such as k => 200.")));
	if (status == QB_BAD_HASHES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of hashes " INT64_FORMAT " is more than the filter would have bits",
						request->k),
				 errhint("Ask for fewer hashes or more rows.")));
	if (status == QB_BAD_FREQUENCY)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("frequency " INT64_FORMAT
							   " is too low for preset paper with " INT64_FORMAT " rows",
							   request->frequency, request->rows),
						errhint("Use qfilter_new_bloom for keys that are there or not.")));
	FilterCheck(status);
}

static Datum
empty_filter(const qf_params *params)
{
	qf_filter filter;

	qf_init(&filter, params, NULL);
	return PointerGetDatum(FilterFlatten(&filter));
}

/*
 * qfilter_new(rows, frequency, error, preset, k, seed): a filter that tells
 * frequencies.  Only k may be NULL: then it is chosen for the error.
 */
PG_FUNCTION_INFO_V1(qfilter_new);
Datum
qfilter_new(PG_FUNCTION_ARGS)
{
	qf_request request = { 0 };
	qf_params params;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_ARGISNULL(3) || PG_ARGISNULL(5))
		PG_RETURN_NULL();
	request.rows = PG_GETARG_INT64(0);
	request.frequency = PG_GETARG_INT64(1);
	request.error = PG_GETARG_FLOAT8(2);
	request.preset = preset_from_text(PG_GETARG_TEXT_PP(3));
	request.k = PG_ARGISNULL(4) ? 0 : PG_GETARG_INT32(4);
	request.seed = (uint64) PG_GETARG_INT64(5);
	CheckInteger("number of rows", request.rows, 1, QF_ROWS_MAX, NULL);
	CheckInteger(
		"frequency", request.frequency, 1, Min(QF_FREQUENCY_MAX, request.rows),
		"The number of all rows comes first, then how often a key occurs that is to be told "
		"best.");
	check_fraction("error", request.error, QF_ERROR_MIN, QF_ERROR_MAX,
				   "It is a share of the frequency: 0.1 is 10 %.");
	if (!PG_ARGISNULL(4))
		CheckInteger("number of hashes", request.k, 1, QF_HASHES_MAX, NULL);
	check_request(qf_params_make(&params, &request), &request);
	return empty_filter(&params);
}

/*
 * The last request of a calling expression.  Finding the size of a blocked filter takes
 * a tenth of a millisecond, and a template that is not a constant is made again for
 * every row.
 */
typedef struct BloomRequest
{
	int64 keys;
	double rate;
	int layout;
	qf_params params; /* all parameters except the seed */
} BloomRequest;

static void
make_bloom(BloomRequest *request, int64 keys, double rate, int layout)
{
	qb_status status;

	CheckInteger("number of keys", keys, 1, QF_ROWS_MAX, NULL);
	check_fraction("false positive rate", rate, QF_RATE_MIN, QF_RATE_MAX,
				   "It is a share of the keys that are not there: 0.01 is 1 %.");
	status = qf_params_make_bloom(&request->params, keys, rate, 0, layout);
	if (status == QB_BAD_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("Bloom filter for " INT64_FORMAT
						" keys with false positive rate %g would need more than %llu bits",
						keys, rate, (unsigned long long) QF_BITS_MAX),
				 layout == QF_BLOCKED
					 ? errhint("Ask for a higher rate or fewer keys, or for layout standard, "
							   "which takes fewer bits.")
					 : errhint("Ask for a higher rate or fewer keys.")));
	FilterCheck(status);
	request->keys = keys;
	request->rate = rate;
	request->layout = layout;
}

/* qfilter_new_bloom(keys, false_positive_rate, seed, layout): a filter that tells membership. */
PG_FUNCTION_INFO_V1(qfilter_new_bloom);
Datum
qfilter_new_bloom(PG_FUNCTION_ARGS)
{
	int64 keys = PG_GETARG_INT64(0);
	double rate = PG_GETARG_FLOAT8(1);
	int layout = layout_from_text(PG_GETARG_TEXT_PP(3));
	BloomRequest *last = fcinfo->flinfo->fn_extra;
	qf_params params;

	if (last == NULL)
		last = fcinfo->flinfo->fn_extra =
			MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(BloomRequest));
	if (last->keys != keys || last->rate != rate || last->layout != layout)
		make_bloom(last, keys, rate, layout);
	params = last->params;
	params.seed = (uint64) PG_GETARG_INT64(2);
	return empty_filter(&params);
}
