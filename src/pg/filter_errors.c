/*
 * filter_errors.c
 *		Status codes of filters as errors of PostgreSQL.
 *
 * src/pg/filter_errors.c
 */
#include "pgbase/errors.h"
#include "pg/filter_value.h"

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

/* Raise an error unless two filters can be merged. */
void
FilterCheckMergeable(const qf_filter *a, const qf_filter *b)
{
	if (!qf_params_mergeable(&a->params, &b->params))
		ereport(
			ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 errmsg("filters differ: %s", differences(&a->params, &b->params)),
			 errhint(
				 "Make all with one template: hashes, probability, seed and layout must be equal; "
				 "bits may differ by a power of two.")));
	KeyFamilyCheckSame(&a->keys, &b->keys, FilterKeyHolder(a));
}
