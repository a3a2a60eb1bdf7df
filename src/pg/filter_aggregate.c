/*
 * filter_aggregate.c
 *		The aggregates that make filters, and the size of their states for the planner.
 *
 * The aggregates are qfilter_agg, qfilter_row_agg, qfilter_count_agg and qfilter_merge_agg.  Keys
 * may have any type, as in the aggregates of sketches (sketch_aggregate.c).  The state is an
 * expanded qfilter in the aggregate's context, and nothing is kept in the FmgrInfo.  Partial states
 * are passed as ordinary values.  In a query without groups, a token stands for a state that is
 * combined in the process that made it (pgbase/state.c).  The aggregates have no inverse function,
 * so PostgreSQL recomputes a window frame whose start moves.
 *
 * The id of a row may have any hashable type.  The id's fingerprint is the row's number.
 *
 * src/pg/filter_aggregate.c
 */

#include "pgbase/aggregate.h"
#include "pg/filter_state.h"
#include "pgbase/estimate.h"
#include "pgbase/keyfamily.h"

#define KEY_ARGUMENT    1
#define NUMBER_ARGUMENT 2

static int
template_argument(FilterInput input)
{
	return input == FILTER_ROWS ? NUMBER_ARGUMENT : NUMBER_ARGUMENT + 1;
}

/*
 * Read the parameters of a template, and ignore its rows.  Raise an error if the template is NULL.
 */
void
FilterReadTemplate(Datum template, bool null, qf_params *params)
{
	FilterReader reader;

	if (null)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("template of a filter must not be null")));
	FilterRead(&reader, template);
	*params = reader.filter->params;
	FilterReadEnd(&reader);
}

static void
template_params(FunctionCallInfo fcinfo, int argument, qf_params *params)
{
	FilterReadTemplate(PG_GETARG_DATUM(argument), PG_ARGISNULL(argument), params);
}

/*
 * True if the row's template has the header of the last template that was checked.  A template is
 * nearly always a constant.
 */
static pg_attribute_always_inline bool
is_known_template(FunctionCallInfo fcinfo, int argument, const FilterState *state)
{
	const char *template = DatumGetPointer(PG_GETARG_DATUM(argument));

	return !PG_ARGISNULL(argument) && VARATT_IS_4B_U(template) &&
		   VARSIZE(template) >= VARHDRSZ + QF_HEADER_BYTES &&
		   memcmp(VARDATA(template), state->template_header, QF_HEADER_BYTES) == 0;
}

/* All rows of a group must have the same template, or the result would depend on the plan. */
static pg_noinline void
check_template(FunctionCallInfo fcinfo, int argument, FilterState *state)
{
	const char *template = DatumGetPointer(PG_GETARG_DATUM(argument));
	qf_params params;

	template_params(fcinfo, argument, &params);
	FilterCheckParams(&params, &state->filter.params);
	if (VARATT_IS_4B_U(template) && VARSIZE(template) >= VARHDRSZ + QF_HEADER_BYTES)
		memcpy(state->template_header, VARDATA(template), QF_HEADER_BYTES);
}

/* Return the state for the first row of a group, or for a row that follows combined states. */
static pg_noinline FilterState *
first_state(FunctionCallInfo fcinfo, FilterInput input)
{
	MemoryContext context = AggregateContext(fcinfo);
	FilterState *state;
	KeyType key;

	(void) AggregateMoves(fcinfo);
	if (!PG_ARGISNULL(0))
		state = StateForUpdate(&filter_state_type, context, PG_GETARG_DATUM(0));
	else
	{
		const StateWork work = AggregateWork(fcinfo);
		qf_params params;

		template_params(fcinfo, template_argument(input), &params);
		state = FilterCreate(AggregateStates(fcinfo, &filter_state_type), &params);
		AggregateStart(fcinfo, &state->keyed, &filter_functions);
		FilterChooseEngine(state, &work);
	}
	KeyTypeOfArgument(&key, fcinfo, KEY_ARGUMENT);
	FilterSetInput(state, &key, input);
	if (input == FILTER_IDS)
		KeyTypeOfArgument(&state->id, fcinfo, NUMBER_ARGUMENT);
	return state;
}

/* The number that FilterPut() receives with the key: the row's id or count, or 1. */
static pg_attribute_always_inline int64
number_argument(FunctionCallInfo fcinfo, FilterInput input, FilterState *state)
{
	if (input == FILTER_ROWS)
		return 1;
	if (input == FILTER_IDS)
		return (int64) KeyFingerprint(&state->id, PG_GETARG_DATUM(NUMBER_ARGUMENT));
	return PG_GETARG_INT64(NUMBER_ARGUMENT);
}

/* Return the count argument; raise an error if it is negative. */
static int64
check_count(int64 count)
{
	if (count < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("count must not be negative, but is " INT64_FORMAT, count),
						errhint("Nothing can be removed from a filter.")));
	return count;
}

static pg_attribute_always_inline Datum
transition(FunctionCallInfo fcinfo, FilterInput input)
{
	FilterState *state =
		PG_ARGISNULL(0) ? NULL : StateOfRow(PG_GETARG_DATUM(0), &filter_state_type);
	int64 number;

	if (PG_ARGISNULL(KEY_ARGUMENT) || (input != FILTER_ROWS && PG_ARGISNULL(NUMBER_ARGUMENT)))
		return AggregateUnchanged(fcinfo);
	if (unlikely(state == NULL || state->keyed.key.type == InvalidOid || state->input != input ||
				 fcinfo->context == NULL))
		state = first_state(fcinfo, input);
	if (unlikely(!is_known_template(fcinfo, template_argument(input), state)))
		check_template(fcinfo, template_argument(input), state);
	number = number_argument(fcinfo, input, state);
	if (input != FILTER_COUNTS || check_count(number) > 0)
		FilterPut(state, KeyFingerprint(&state->keyed.key, PG_GETARG_DATUM(KEY_ARGUMENT)), number);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

SQL_FUNCTION(qfilter_agg_trans, transition(fcinfo, FILTER_ROWS));
SQL_FUNCTION(
	qfilter_agg_without_template,
	RaiseForm("qfilter_agg needs a template",
			  "qfilter_agg(key, qfilter_new_bloom(1000000, 0.01)) makes a Bloom filter for a "
			  "million distinct keys, with a wrong yes for 1 % of all others."));
SQL_FUNCTION(qfilter_row_agg_trans, transition(fcinfo, FILTER_IDS));
SQL_FUNCTION(qfilter_count_agg_trans, transition(fcinfo, FILTER_COUNTS));

/* qfilter_agg_combine(qfilter, qfilter): combines partial states of aggregates of keys. */
SQL_FUNCTION(qfilter_agg_combine,
			 AggregateMerge(fcinfo, &filter_state_type, &filter_functions, true));

/* qfilter_merge_trans(qfilter, qfilter): adds a stored filter to the state. */
SQL_FUNCTION(qfilter_merge_trans,
			 AggregateMerge(fcinfo, &filter_state_type, &filter_functions, false));

/* qfilter_agg_final(qfilter): returns a read-only pointer to the state, without a copy. */
SQL_FUNCTION(qfilter_agg_final, AggregateFinal(fcinfo, &filter_state_type));

static const ArgumentLayout of_rows = { 0, 2 };
static const ArgumentLayout numbered = { 2, 3 };

const AggregateFunctions filter_functions = {
	.key = KEY_ARGUMENT,
	.transition = { { qfilter_agg_trans, &of_rows },
					{ qfilter_row_agg_trans, &numbered },
					{ qfilter_count_agg_trans, &numbered } },
	.combine = { qfilter_agg_combine, qfilter_merge_trans },
	.final = qfilter_agg_final,
};

/* ---- the size of a state, for the planner ---- */

/*
 * The maximum number of bytes per set bit in the explicit encoding.  Its hash table is at least a
 * quarter full, unless the table has the minimum size.
 */
#define EXPLICIT_BIT (4 * sizeof(uint32))

/*
 * The maximum number of bytes of an enlarged buffer per row of the group.  A full buffer becomes 4
 * times larger.
 */
#define BUFFERED_ROW (4 * (sizeof(uint64) + sizeof(int64)))

/*
 * Estimate how many bits the rows set.  In a Bloom filter, only the first row of a key sets bits.
 */
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
	double bits;

	if (template == NULL)
		return 0;
	FilterReadTemplate(template->constvalue, false, &params);
	bits = set_bits(&params, keys, rows);
	if (bits <= (double) qf_explicit_limit(&params))
		return space + bits * EXPLICIT_BIT;
	return space + (double) qf_dense_size(&params);
}

SQL_FUNCTION(qfilter_support, StateSizeSupport(fcinfo, state_space));
