/*
 * filter_errors.c
 *		Status codes of filters as errors of PostgreSQL.
 *
 * src/pg/filter_errors.c
 */
#include "pgbase/errors.h"
#include "pg/filter_value.h"

/* How messages about keys name a filter.  A Bloom filter has no estimates. */
const KeyHolder *
FilterKeyHolder(const qf_filter *filter)
{
	static const KeyHolder of_frequencies = { "filter", "filters", "qfilter_estimate_key" };
	static const KeyHolder bloom = { "filter", "filters", "qfilter_contains_key" };

	return qf_is_bloom(&filter->params) ? &bloom : &of_frequencies;
}

/* Raise the error of a status unless it is QB_OK. */
void
FilterCheck(qb_status status)
{
	if (status == QB_TOTAL_OVERFLOW)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("number of rows out of range"),
				 errhint("A filter counts at most 9223372036854775807 rows.")));
	if (status != QB_OK)
		StatusRaise(status, "filter", NULL);
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

/* Raise the error for bytes that are not a filter. */
void
FilterBadFormat(qb_status status, int sqlstate, const uint8 *bytes, Size length)
{
	StatusRaiseFormat(status, sqlstate, "filter", QF_FORMAT_VERSION_1, bytes, length);
}
