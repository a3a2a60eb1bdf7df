/*
 * filter_value.c
 *		Reading and writing qfilter values, errors about them, input and output, and facts
 *		about one: qfilter_fill, qfilter_distinct and qfilter_info.
 *
 * Values inside the database were validated when they came in, like sketches.  So
 * reading a value checks only its header and length.  That is enough to keep every
 * operation inside the value's bytes.
 *
 * src/pg/filter_value.c
 */
#include "pg/filter_value.h"

#include "filter/estimate.h"
#include "pg/filter_state.h"
#include "pg/flat.h"
#include "pgbase/value.h"
#include "pgbase/keyfamily.h"
#include "pgbase/stored.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* Open a value of this length, whose header alone is read. */
static void
open_bytes(qf_filter *view, const uint8 *bytes, Size length)
{
	qb_status status = qf_open(view, bytes, length);

	if (status != QB_OK)
		FormatRaise(&filter_format, status, ERRCODE_DATA_CORRUPTED, bytes, length);
}

/* A view of a detoasted value. */
void
FilterOpen(qf_filter *view, struct varlena *value)
{
	open_bytes(view, (const uint8 *) VARDATA(value), VARSIZE(value) - VARHDRSZ);
}

/*
 * Open a filter stored out of line by reading its header alone.  The result serves for
 * what the header says.  False if the datum is not stored so that parts of it can be
 * read.
 */
bool
FilterOpenStored(qf_filter *view, Datum datum)
{
	uint8 header[QF_HEADER_BYTES];
	Size length;

	if (!StoredReadHeader(&filter_format, datum, header, &length))
		return false;
	open_bytes(view, header, length);
	view->bits = NULL;
	view->compact = NULL;
	return true;
}

/*
 * Choose how to write a filter; returns the bytes of the varlena.  The largest filter is
 * half a gigabyte, which PostgreSQL can store.
 */
Size
FilterFlatSize(const qf_filter *filter, qf_flat *flat)
{
	StaticAssertStmt(VARHDRSZ + QF_HEADER_BYTES + QF_BITS_MAX / 8 <= MaxAllocSize,
					 "the largest filter cannot be stored");
	*flat = qf_flat_of(filter);
	return VARHDRSZ + flat->bytes;
}

void
FilterWrite(const qf_filter *filter, const qf_flat *flat, struct varlena *out)
{
	SET_VARSIZE(out, VARHDRSZ + flat->bytes);
	qf_write_flat(filter, flat, (uint8 *) VARDATA(out));
}

/* The filter as a palloc'd value. */
struct varlena *
FilterFlatten(const qf_filter *filter)
{
	qf_flat flat;
	struct varlena *out = palloc(FilterFlatSize(filter, &flat));

	FilterWrite(filter, &flat, out);
	return out;
}

/* ---- errors ---- */

const ValueFormat filter_format = { "filter", QF_FORMAT_VERSION_1, QF_HEADER_BYTES };

/* A Bloom filter has no estimates. */
const KeyHolder filter_key_holders[2] = {
	{ "filter", "filters", "qfilter_estimate_key" },
	{ "filter", "filters", "qfilter_contains_key" },
};

/* Raise the error of a status unless it is QB_OK. */
void
FilterCheck(qb_status status)
{
	if (status == QB_TOTAL_OVERFLOW)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("number of rows out of range"),
				 errhint("A filter counts at most 9223372036854775807 rows.")));
	if (status != QB_OK)
		StatusRaise(status, filter_format.noun, NULL);
}

/* A list of the parameters in which two filters differ, with both values. */
static char *
differences(const qf_params *a, const qf_params *b)
{
	StringInfoData text;

	initStringInfo(&text);
	if (a->m != b->m)
		appendStringInfo(&text, ", bits " UINT64_FORMAT " and " UINT64_FORMAT, a->m, b->m);
	if (a->k != b->k)
		appendStringInfo(&text, ", hashes %u and %u", a->k, b->k);
	if (a->q != b->q)
		appendStringInfo(&text, ", probability %.9g and %.9g", qf_probability(a),
						 qf_probability(b));
	if (a->seed != b->seed)
		appendStringInfo(&text, ", seed " INT64_FORMAT " and " INT64_FORMAT, (int64) a->seed,
						 (int64) b->seed);
	if (a->layout != b->layout)
		appendStringInfo(&text, ", layout %s and %s", qf_layout_name((int) a->layout),
						 qf_layout_name((int) b->layout));
	return text.data + 2;
}

/* A hint for filters that differ in size alone, or in what no function can change. */
static int
hint_size(const qf_params *a, const qf_params *b)
{
	const qf_params *large = a->m > b->m ? a : b;
	qf_params folded = *large;
	int halvings;

	folded.m = Min(a->m, b->m);
	halvings = qf_params_halvings(large->m, folded.m);
	if (halvings > 0 && qf_params_mergeable(&folded, large == a ? b : a))
		return errhint("Fold the larger one: qfilter_fold(filter, %d).", halvings);
	return errhint("Make all filters with one template: bits, hashes, probability, seed and layout "
				   "must be equal.");
}

/* Raise an error unless two filters can be merged. */
void
FilterCheckMergeable(const qf_filter *a, const qf_filter *b)
{
	if (!qf_params_mergeable(&a->params, &b->params))
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
						errmsg("filters differ: %s", differences(&a->params, &b->params)),
						hint_size(&a->params, &b->params)));
	KeyFamilyCheckSame(&a->keys, &b->keys, FilterKeyHolder(a));
}

/*
 * ---- facts ----
 *
 * They all come from the header, so only the header of a stored filter is read.  A filter
 * that is not stored is measured to tell the encoding of its bytes.
 */

/*
 * The first argument as a filter of which only the header can be read.
 * "measured": the encoding is that of its bytes, for which an expanded filter
 * must be measured.
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
fill_of(const qf_filter *filter)
{
	return (double) filter->ones / (double) filter->params.m;
}

/* qfilter_fill(qfilter): fraction of set bits. */
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
	values[INFO_FORM] =
		CStringGetTextDatum(filter->encoding == QF_ENCODING_COMPACT ? "compact" : "dense");
	SetText(values, nulls, INFO_KEY_FAMILY, KeyFamilyName(filter->keys.family));
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

/* ---- input, output and comparison ---- */

/* Raise an error unless a value made from outside is a valid filter. */
static void
validate(struct varlena *value, int sqlstate)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qb_memory memory;
	qb_status status =
		qf_validate_pausing(bytes, length, ContextMemory(CurrentMemoryContext, &memory));

	if (status != QB_OK)
		FormatRaise(&filter_format, status, sqlstate, bytes, length);
}

/* A hint: whoever writes a number probably means the rows, or the keys, of a template. */
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
	.noun = "filter",
	.prefix = "qfilter:",
	.validate = validate,
	.hint = hint,
};

FLAT_FUNCTIONS(qfilter, qfilter);
