/*
 * filter_functions.c
 *		Functions of filters: empty filters, facts, adding, merging, folding, input and output.
 *
 * src/pg/filter_functions.c
 */
#include "pg/filter_state.h"

#include "filter/estimate.h"
#include "pg/flat.h"
#include "pgbase/keycheck.h"
#include "pgbase/keyread.h"
#include "utils/builtins.h"

#include <math.h>

/* ---- qfilter_new and qfilter_new_bloom: empty filters ---- */

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

/* Raise an error unless the status is QB_OK.  Valid arguments may be an invalid combination. */
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
 * qfilter_new(rows, frequency, error, preset, k, seed): an empty filter that estimates frequencies.
 * If k is NULL, k is chosen for the error; preset paper needs a k.  If any other argument is NULL,
 * the result is NULL.
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
 * The last request of a calling expression, with the resulting parameters.  Equal requests of later
 * rows reuse these parameters, because sizing a blocked filter takes 0.1 ms.
 */
typedef struct BloomRequest
{
	double keys; /* number of distinct keys; 0: no request yet */
	double rate;
	int layout;
	qf_params params; /* all parameters except the seed */
} BloomRequest;

static void
make_bloom(BloomRequest *request, double keys, double rate, int layout)
{
	BloomRequest valid = { .keys = keys, .rate = rate, .layout = layout };
	qb_status status;

	if (!(keys >= 1 && keys <= QF_ROWS_MAX))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("number of keys must be between 1 and %lld, not %.16g",
							   (long long) QF_ROWS_MAX, keys)));
	check_fraction("false positive rate", rate, QF_RATE_MIN, QF_RATE_MAX,
				   "It is a share of the keys that are not there: 0.01 is 1 %.");
	status = qf_params_make_bloom(&valid.params, (int64) ceil(keys), rate, 0, layout);
	if (status == QB_BAD_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("Bloom filter for %.0f"
						" keys with false positive rate %g would need more than %llu bits",
						keys, rate, (unsigned long long) QF_BITS_MAX),
				 layout == QF_BLOCKED
					 ? errhint("Ask for a higher rate or fewer keys, or for layout standard, "
							   "which takes fewer bits.")
					 : errhint("Ask for a higher rate or fewer keys.")));
	FilterCheck(status);
	*request = valid;
}

/* qfilter_new_bloom(keys, false_positive_rate, seed, layout): an empty Bloom filter. */
PG_FUNCTION_INFO_V1(qfilter_new_bloom);
Datum
qfilter_new_bloom(PG_FUNCTION_ARGS)
{
	double keys = PG_GETARG_FLOAT8(0);
	double rate = PG_GETARG_FLOAT8(1);
	int layout = layout_from_text(PG_GETARG_TEXT_PP(3));
	BloomRequest *last = fcinfo->flinfo->fn_extra;
	qf_params params;

	if (last == NULL)
		last = fcinfo->flinfo->fn_extra =
			MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(BloomRequest));
	if (last->keys == 0 || last->keys != keys || last->rate != rate || last->layout != layout)
		make_bloom(last, keys, rate, layout);
	params = last->params;
	params.seed = (uint64) PG_GETARG_INT64(2);
	return empty_filter(&params);
}

/*
 * ---- facts ----
 *
 * All facts are in the header, so only the header of a stored filter is read.  An expanded filter
 * has no serialized bytes.  Its serialized encoding is computed if a function returns the encoding.
 */

/*
 * Return the first argument's header, as a filter whose bits must not be read.  If "measured", the
 * header of an expanded filter has the encoding that serialized bytes would have.
 */
static qf_filter
header_argument(FunctionCallInfo fcinfo, bool measured)
{
	Datum datum = PG_GETARG_DATUM(0);
	FilterReader reader;
	qf_filter header;

	if (!FilterOpenStored(&header, datum))
	{
		FilterRead(&reader, datum);
		header = *reader.filter;
		if (measured && !header.view)
			header.encoding = qf_flat_of(&header).encoding;
		FilterReadEnd(&reader);
	}
	return header;
}

static double
fill_of(qf_filter filter)
{
	return (double) filter.ones / (double) filter.params.m;
}

/* qfilter_fill(qfilter): the fraction of bits that are set. */
SQL_FUNCTION(qfilter_fill, Float8GetDatum(fill_of(header_argument(fcinfo, false))));

/* qfilter_distinct(qfilter): estimates the number of distinct keys of a Bloom filter. */
PG_FUNCTION_INFO_V1(qfilter_distinct);
Datum
qfilter_distinct(PG_FUNCTION_ARGS)
{
	qf_filter filter = header_argument(fcinfo, false);

	if (!qf_is_bloom(&filter.params))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a filter of probability %g does not tell how many distinct keys it has",
						qf_probability(&filter.params)),
				 errhint("Use a Bloom filter, made by qfilter_new_bloom.")));
	PG_RETURN_FLOAT8(qf_distinct(&filter));
}

/* Columns of qfilter_info(), in the order of its declaration. */
enum
{
	INFO_BITS,
	INFO_BYTES,
	INFO_HASHES,
	INFO_PROBABILITY,
	INFO_LAYOUT,
	INFO_SEED,
	INFO_ROWS,
	INFO_SET_BITS,
	INFO_FILL,
	INFO_FORM,
	INFO_KEY_FAMILY,
	INFO_COLUMNS
};

static void
fill_info(const qf_filter *filter, Datum *values, bool *nulls)
{
	values[INFO_BITS] = Int64GetDatum((int64) filter->params.m);
	values[INFO_BYTES] = Int64GetDatum((int64) qf_words(&filter->params) * 8);
	values[INFO_HASHES] = Int32GetDatum((int32) filter->params.k);
	values[INFO_PROBABILITY] = Float8GetDatum(qf_probability(&filter->params));
	values[INFO_LAYOUT] = CStringGetTextDatum(qf_layout_name((int) filter->params.layout));
	values[INFO_SEED] = Int64GetDatum((int64) filter->params.seed);
	values[INFO_ROWS] = Int64GetDatum(filter->rows);
	nulls[INFO_ROWS] = filter->rows == QF_ROWS_UNKNOWN;
	values[INFO_SET_BITS] = Int64GetDatum((int64) filter->ones);
	values[INFO_FILL] = Float8GetDatum(fill_of(*filter));
	values[INFO_FORM] =
		CStringGetTextDatum(filter->encoding == QF_ENCODING_COMPACT ? "compact" : "dense");
	SetText(values, nulls, INFO_KEY_FAMILY, KeysName(&filter->keys));
}

/* qfilter_info(qfilter): one row with the filter's parameters, number of rows and set bits. */
PG_FUNCTION_INFO_V1(qfilter_info);
Datum
qfilter_info(PG_FUNCTION_ARGS)
{
	qf_filter filter = header_argument(fcinfo, true);
	Datum values[INFO_COLUMNS] = { 0 };
	bool nulls[INFO_COLUMNS] = { 0 };

	fill_info(&filter, values, nulls);
	return ReturnRow(fcinfo, values, nulls);
}

/*
 * ---- adding, merging and folding ----
 *
 * If no argument is NULL, each function returns a read-write expanded object.  If the first
 * argument is a read-write expanded object, this object is changed.  If not, a copy is changed.
 * Stored values never change.
 */

#define KEY_ARGUMENT 1
#define ID_ARGUMENT  2

/*
 * Insert the key argument, and flush the buffer.  A NULL key or id changes nothing; a NULL filter
 * gives NULL.  Afterwards the key type of the object is cleared.  So if the object becomes the
 * state of an aggregate, transition() calls first_state() for it.
 */
static Datum
add_key(FunctionCallInfo fcinfo, FilterInput input)
{
	FilterState *expanded;
	NewKey key;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(KEY_ARGUMENT) || (input == FILTER_IDS && PG_ARGISNULL(ID_ARGUMENT)))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	expanded = StateForUpdate(&filter_state_type, NULL, PG_GETARG_DATUM(0));
	FilterFlush(&expanded->keyed);
	KeyNewArgument(&key, fcinfo, KEY_ARGUMENT, &expanded->filter.keys,
				   FilterKeyHolder(&expanded->filter));
	FilterSetInput(expanded, &key.type, input);
	FilterPut(expanded, key.fingerprint, input == FILTER_IDS ? PG_GETARG_INT64(ID_ARGUMENT) : 1);
	FilterFlush(&expanded->keyed);
	expanded->keyed.key.type = InvalidOid;
	return StateDatum(&expanded->keyed);
}

SQL_FUNCTION(qfilter_add, add_key(fcinfo, FILTER_ROWS));
SQL_FUNCTION(qfilter_add_row, add_key(fcinfo, FILTER_IDS));

/* qfilter_merge(qfilter, qfilter): a filter with the bits of both arguments. */
static Datum
merge(FunctionCallInfo fcinfo)
{
	return StateMerged(fcinfo, &filter_state_type);
}

SQL_FUNCTION(qfilter_merge, MergeUnlessNull(fcinfo, merge));

/* qfilter_fold(qfilter, halvings): the filter, with its number of bits halved "halvings" times. */
PG_FUNCTION_INFO_V1(qfilter_fold);
Datum
qfilter_fold(PG_FUNCTION_ARGS)
{
	int32 halvings = PG_GETARG_INT32(1);
	FilterState *expanded;
	int most;

	expanded = StateForUpdate(&filter_state_type, NULL, PG_GETARG_DATUM(0));
	FilterMaterialize(expanded);
	most = qf_params_foldable(&expanded->filter.params);
	if (halvings < 0 || halvings > most)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot fold filter of " UINT64_FORMAT " bits %d times",
							   expanded->filter.params.m, halvings),
						errhint("This one can be folded 0 to %d times.", most)));
	FilterCheck(qf_fold(&expanded->filter, expanded->filter.params.m >> halvings));
	return StateDatum(&expanded->keyed);
}

/* ---- input, output and comparison ---- */

/* Raise an error if the key family and the other facts about keys in a value are inconsistent. */
static void
check(struct varlena *value, int sqlstate)
{
	qf_filter view;

	if (qf_open(&view, (const uint8 *) VARDATA(value), VARSIZE(value) - VARHDRSZ) == QB_OK)
		KeysCheck(&view.keys, &filter_format, sqlstate);
}

/*
 * The hint for a text that is not a filter.  A user who writes a number probably means the number
 * of rows or keys of a template.
 */
static char *
hint(const char *text)
{
	if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0')
		return psprintf(
			"A template for this many rows is qfilter_new(%s, frequency). A Bloom filter for "
			"this many distinct keys is qfilter_new_bloom(%s).",
			text, text);
	return NULL;
}

static const FlatType qfilter = {
	.name = "qfilter",
	.format = &filter_format,
	.validate = qf_validate,
	.check = check,
	.hint = hint,
};

FLAT_FUNCTIONS(qfilter);
