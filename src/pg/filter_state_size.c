/*
 * filter_state_size.c
 *		How much memory a filter of a group takes, for the planner.
 *
 * src/pg/filter_state_size.c
 */
#include "pg/filter_state.h"
#include "pgbase/state_size.h"

/* Bytes of a set bit in the explicit form, whose table is a quarter to half full. */
#define EXPLICIT_BIT (4 * sizeof(uint32))

/* Bytes of a row in the buffer: fingerprint and number.  The buffer may be four times too large. */
#define BUFFERED_ROW (4 * (sizeof(uint64) + sizeof(int64)))

/* How many bits the rows set.  In a Bloom filter all rows of a key set the same bits. */
static double
set_bits(const qf_params *params, double keys, double rows)
{
	return params->k * qf_probability(params) * (qf_is_bloom(params) ? keys : rows);
}

static double
state_space(const Const *template, double keys, double rows)
{
	double space = sizeof(FilterState) + Min(rows * BUFFERED_ROW, QF_BATCH * BUFFERED_ROW / 4);
	qf_params params;
	FilterReader reader;
	double bits;

	if (template == NULL)
		return 0;
	FilterRead(&reader, template->constvalue);
	params = reader.filter->params;
	FilterReadEnd(&reader);
	bits = set_bits(&params, keys, rows);
	if (bits <= (double) qf_explicit_limit(&params))
		return space + bits * EXPLICIT_BIT;
	return space + (double) qf_dense_size(&params);
}

SQL_FUNCTION(qfilter_support, StateSizeSupport(fcinfo, state_space));
