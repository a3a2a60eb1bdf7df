/*
 * filter_inspect.c
 *		Facts about one filter: qfilter_fill, qfilter_distinct and qfilter_info.
 *
 * They all come from the header, so only the header of a stored filter is read.  A filter
 * that is not stored is measured to tell the form of its bytes.
 *
 * src/pg/filter_inspect.c
 */
#include "pg/filter_state.h"

#include "filter/estimate.h"
#include "pgbase/keyfamily.h"
#include "pgbase/row.h"
#include "utils/builtins.h"

/*
 * The first argument as a filter of which only the header can be read.  "measured": the
 * form is that of its bytes, for which an expanded filter must be measured.
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
			header.form = qf_flat_of(&header).form;
		FilterReadEnd(&reader);
	}
	return header;
}

static double
fill_of(const qf_filter *filter)
{
	return (double) filter->ones / (double) filter->params.m;
}

/* qfilter_fill(qfilter): share of set bits. */
PG_FUNCTION_INFO_V1(qfilter_fill);
Datum
qfilter_fill(PG_FUNCTION_ARGS)
{
	qf_filter filter = header_argument(fcinfo, false);

	PG_RETURN_FLOAT8(fill_of(&filter));
}

/* qfilter_distinct(qfilter): about how many distinct keys are in a Bloom filter. */
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
	char *family = KeyFamilyName(filter->keys.family);

	values[INFO_BITS] = Int64GetDatum((int64) filter->params.m);
	values[INFO_BYTES] = Int64GetDatum((int64) qf_words(&filter->params) * 8);
	values[INFO_HASHES] = Int32GetDatum((int32) filter->params.k);
	values[INFO_PROBABILITY] = Float8GetDatum(qf_probability(&filter->params));
	values[INFO_LAYOUT] = CStringGetTextDatum(qf_layout_name((int) filter->params.layout));
	values[INFO_SEED] = Int64GetDatum((int64) filter->params.seed);
	values[INFO_ROWS] = Int64GetDatum(filter->rows);
	nulls[INFO_ROWS] = filter->rows == QF_ROWS_UNKNOWN;
	values[INFO_SET_BITS] = Int64GetDatum((int64) filter->ones);
	values[INFO_FILL] = Float8GetDatum(fill_of(filter));
	values[INFO_FORM] = CStringGetTextDatum(filter->form == QF_FORM_COMPACT ? "compact" : "dense");
	if (family)
		values[INFO_KEY_FAMILY] = CStringGetTextDatum(family);
	nulls[INFO_KEY_FAMILY] = family == NULL;
}

/* qfilter_info(qfilter): parameters and state. */
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
