/*
 * top_functions.c
 *		Functions and aggregates of lists of top keys; input and output.
 *
 * src/pg/top_functions.c
 */
#include "pg/sketch_aggregate.h"
#include "pg/top_state.h"

#include "engine/sketch_engine.h"
#include "mb/pg_wchar.h"
#include "pg/flat.h"
#include "pgbase/estimate.h"
#include "pgbase/keyfamily.h"
#include "pgbase/value.h"
#include "sketch/top.h"
#include "utils/builtins.h"

/*
 * ---- qtop_agg and qtop_merge_agg ----
 *
 * These aggregates work like the aggregates of sketches (sketch_aggregate.c).  qtop_agg is declared
 * for keys of any type.  The state is an expanded qtop in the aggregate's context.  The FmgrInfo
 * holds nothing.  Partial states without removals are passed as ordinary values.  In a query
 * without groups, tokens stand for states that are combined in the process that made them
 * (pgbase/state.c).  No token stands for a state on a device.
 *
 * The aggregates have no inverse function, because a list cannot restore keys that it has dropped.
 * So the executor computes a window frame anew when its start moves.
 */

static const ArgumentLayout plain = { .limit = 2 };
static const ArgumentLayout weighted = { .weight = 2, .limit = 3 };
static const ArgumentLayout templated = { .limit = 2, .template = 3 };
static const ArgumentLayout weighted_templated = { .weight = 2, .limit = 3, .template = 4 };

/* Return the argument n.  It is a bigint in qtop_agg(key, n), and an integer in all other forms. */
static int64
limit_argument(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	return layout.weight || layout.template ? PG_GETARG_INT32(layout.limit)
											: PG_GETARG_INT64(layout.limit);
}

static uint32
n_argument(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	if (PG_ARGISNULL(layout.limit))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("number of top keys must not be null")));
	return TopCheckN(limit_argument(fcinfo, layout));
}

/*
 * Return the state for the first row of a group, or for the first row after states were combined.
 */
static pg_noinline TopState *
first_state(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	MemoryContext context = AggregateContext(fcinfo);
	TopState *state;
	KeyType key;

	(void) AggregateMoves(fcinfo);
	if (!PG_ARGISNULL(0))
		state = StateForUpdate(&top_state_type, context, PG_GETARG_DATUM(0));
	else
	{
		qs_params params;

		SketchTemplateParams(fcinfo, layout, &params);
		state = TopCreate(AggregateStates(fcinfo, &top_state_type), &params,
						  n_argument(fcinfo, layout));
		AggregateStart(fcinfo, &state->keyed, &top_functions);
	}
	KeyTypeOfArgument(&key, fcinfo, SKETCH_KEY_ARGUMENT);
	TopSetKey(state, &key);
	return state;
}

/*
 * Append a key that is a number, like append_integer() in sketch_aggregate.c.  NULL: nothing was
 * appended.
 */
static pg_attribute_always_inline TopState *
append_integer(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	TopState *state;
	int64 weight;

	if (PG_ARGISNULL(0) || SketchSkipsRow(fcinfo, layout) || PG_ARGISNULL(layout.limit) ||
		fcinfo->context == NULL)
		return NULL;
	state = StateOfRow(PG_GETARG_DATUM(0), &top_state_type);
	if (state == NULL || KeyBufferIsFull(&state->keyed.buffer) || !KeyIsNumber(&state->keyed.key) ||
		limit_argument(fcinfo, layout) != (int64) state->top.n)
		return NULL;
	weight = SketchRowWeight(fcinfo, layout);
	if (unlikely(weight < 0))
		return NULL;
	TopPut(state, (uint64) KeyNumber(state->keyed.key.kind, PG_GETARG_DATUM(SKETCH_KEY_ARGUMENT)),
		   weight);
	return state;
}

static pg_attribute_always_inline Datum
transition(FunctionCallInfo fcinfo, ArgumentLayout layout)
{
	TopState *state = PG_ARGISNULL(0) ? NULL : StateOfRow(PG_GETARG_DATUM(0), &top_state_type);
	int64 weight;

	if (SketchSkipsRow(fcinfo, layout))
		return AggregateUnchanged(fcinfo);
	weight = SketchRowWeight(fcinfo, layout);
	if (unlikely(state == NULL || state->keyed.key.type == InvalidOid || fcinfo->context == NULL))
		state = first_state(fcinfo, layout);
	TopCheckSameN(state->top.n, n_argument(fcinfo, layout));
	if (layout.template)
		SketchCheckTemplate(fcinfo, layout, &state->sketch.params, state->template_key);
	if (unlikely(weight < 0))
		AggregateRemoves(fcinfo, &state->keyed, &top_functions);
	TopCount(state, PG_GETARG_DATUM(SKETCH_KEY_ARGUMENT), weight);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

static pg_noinline Datum
plain_transition(FunctionCallInfo fcinfo)
{
	return transition(fcinfo, plain);
}

static pg_noinline Datum
weighted_transition(FunctionCallInfo fcinfo)
{
	return transition(fcinfo, weighted);
}

/* qtop_agg_trans(qtop, key, n) */
PG_FUNCTION_INFO_V1(qtop_agg_trans);
Datum
qtop_agg_trans(PG_FUNCTION_ARGS)
{
	TopState *state = append_integer(fcinfo, plain);

	if (unlikely(state == NULL))
		return plain_transition(fcinfo);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/* qtop_agg_trans(qtop, key, weight, n) */
PG_FUNCTION_INFO_V1(qtop_agg_trans_weight);
Datum
qtop_agg_trans_weight(PG_FUNCTION_ARGS)
{
	TopState *state = append_integer(fcinfo, weighted);

	if (unlikely(state == NULL))
		return weighted_transition(fcinfo);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/* qtop_agg_trans(qtop, key, n, template) */
SQL_FUNCTION(qtop_agg_trans_template, transition(fcinfo, templated));

/* qtop_agg_trans(qtop, key, weight, n, template) */
SQL_FUNCTION(qtop_agg_trans_weight_template, transition(fcinfo, weighted_templated));

/*
 * qtop_agg_trans(qtop, key): raises an error, because n has no default.  Lists of different n
 * cannot be merged.
 */
SQL_FUNCTION(qtop_agg_without_n,
			 RaiseForm("qtop_agg needs the number of top keys",
					   "qtop_agg(key, 100) makes a list of the 100 most frequent keys."));

/* qtop_list(qtop): raises an error whose hint shows correct calls. */
SQL_FUNCTION(qtop_list_without_type,
			 RaiseForm("qtop_list needs the type of the keys",
					   "qtop_list(list, NULL::bigint) returns keys as bigint, and "
					   "qtop_text(list) returns any keys as text."));

/* qtop_agg_combine(qtop, qtop): combine partial states of qtop_agg. */
SQL_FUNCTION(qtop_agg_combine, AggregateMerge(fcinfo, &top_state_type, &top_functions, true));

/* qtop_merge_trans(qtop, qtop): add a row of qtop_merge_agg, or a partial state. */
SQL_FUNCTION(qtop_merge_trans, AggregateMerge(fcinfo, &top_state_type, &top_functions, false));

/* qtop_agg_final(qtop): a pointer to the state, which is read in place. */
SQL_FUNCTION(qtop_agg_final, AggregateFinal(fcinfo, &top_state_type));

const AggregateFunctions top_functions = {
	.key = SKETCH_KEY_ARGUMENT,
	.transition = { { qtop_agg_trans, &plain },
					{ qtop_agg_trans_weight, &weighted },
					{ qtop_agg_trans_template, &templated },
					{ qtop_agg_trans_weight_template, &weighted_templated } },
	.combine = { qtop_agg_combine, qtop_merge_trans },
	.final = qtop_agg_final,
};

/* ---- the size of a state, for the planner ---- */

/*
 * Bytes of a candidate: two elements of the array, four slots of the hash table, and a short text.
 */
#define CANDIDATE (2 * sizeof(qs_top_key) + 4 * sizeof(uint32) + 48)

/* The assumed number of candidates, since the planner does not know n. */
#define CANDIDATES 200

static double
state_space(const Const *template, double keys, double rows)
{
	return SketchStateSpace(template, keys) + CANDIDATE * Min(keys, CANDIDATES);
}

SQL_FUNCTION(qtop_support, StateSizeSupport(fcinfo, state_space));

/* ---- empty lists, and facts about a list ---- */

/* qtop_new(n, template): an empty list. */
PG_FUNCTION_INFO_V1(qtop_new);
Datum
qtop_new(PG_FUNCTION_ARGS)
{
	uint32 n = TopCheckN(PG_GETARG_INT32(0));
	SketchReader reader;
	TopState *top;

	SketchReadAsStored(&reader, PG_GETARG_DATUM(1));
	SketchCheck(qs_writable(reader.sketch));
	top = TopCreate(StateContext(&top_state_type, NULL), &reader.sketch->params, n);
	SketchReadEnd(&reader);
	PG_RETURN_DATUM(StateDatum(&top->keyed));
}

/* Return what "answer" computes from the list in the first argument. */
static Datum
ask(FunctionCallInfo fcinfo, Datum (*answer)(FunctionCallInfo fcinfo, const TopReader *reader))
{
	TopReader reader;
	Datum result;

	TopRead(&reader, PG_GETARG_DATUM(0));
	result = answer(fcinfo, &reader);
	TopReadEnd(&reader);
	return result;
}

static Datum
sketch_of(FunctionCallInfo fcinfo, const TopReader *reader)
{
	return PointerGetDatum(SketchFlatten(reader->sketch));
}

static Datum
total_of(FunctionCallInfo fcinfo, const TopReader *reader)
{
	return Int64GetDatum(reader->sketch->total);
}

static Datum
distinct_of(FunctionCallInfo fcinfo, const TopReader *reader)
{
	return SketchDistinctRow(fcinfo, reader->sketch);
}

static Datum
info_of(FunctionCallInfo fcinfo, const TopReader *reader)
{
	Datum values[5];
	bool nulls[lengthof(values)] = { 0 };

	values[0] = Int32GetDatum((int32) reader->top->n);
	values[1] = Int64GetDatum((int64) reader->top->count);
	values[2] = Int64GetDatum(reader->top->bound);
	values[3] = Int64GetDatum(reader->sketch->total);
	SetText(values, nulls, 4, KeysName(&reader->sketch->keys));
	return ReturnRow(fcinfo, values, nulls);
}

/* qtop_sketch(qtop): the sketch without the candidates. */
SQL_FUNCTION(qtop_sketch, ask(fcinfo, sketch_of));

/* qtop_total(qtop): the sum of all weights. */
SQL_FUNCTION(qtop_total, ask(fcinfo, total_of));

/* qtop_distinct(qtop): estimate of the number of distinct keys, and its standard error. */
SQL_FUNCTION(qtop_distinct, ask(fcinfo, distinct_of));

/*
 * qtop_info(qtop): n, the number of candidates, the bound for all other keys, the total, and the
 * name of the key family.
 */
SQL_FUNCTION(qtop_info, ask(fcinfo, info_of));

/*
 * ---- adding and removing keys, merging, subtracting and folding ----
 *
 * Adding a key is cheap, but a value that may not be changed in place is copied first, with the
 * tables of its sketch and with its candidates.  From PostgreSQL 18 on, t := qtop_add(t, k) in
 * PL/pgSQL may change the variable in place (qsketch_modify_support).  If the call raises an error,
 * the variable must be unchanged.  So qtop_add checks its arguments and the new total before it
 * changes the list.  qtop_remove cannot check first whether the list has the removed weight.  So
 * qtop_remove has no planner support function, and changes a copy of the variable.
 */

#define KEY_ARGUMENT    1
#define WEIGHT_ARGUMENT 2

/*
 * Return the text of a key, from the output function of its type.  NULL: the key is a number, for
 * which no text is kept.
 */
static const char *
text_of(const NewKey *key, uint32 *length)
{
	KeyWriter writer;
	const char *text;
	int level;

	*length = 0;
	if (KeyIsNumber(&key->type))
		return NULL;
	KeyWriterInit(&writer, key->type.type, CurrentMemoryContext);
	level = KeyTextBegin();
	text = KeyWriteKept(&writer, key->value, &key->type.keys, length);
	KeyTextEnd(level);
	return text;
}

static int64
weight_argument(FunctionCallInfo fcinfo)
{
	int64 weight = PG_NARGS() > WEIGHT_ARGUMENT ? PG_GETARG_INT64(WEIGHT_ARGUMENT) : 1;

	if (weight < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("weight must not be negative, but is " INT64_FORMAT, weight),
				 errhint("qtop_add adds a positive weight, and qtop_remove takes one away.")));
	return weight;
}

/*
 * Apply "by" to the list and the key in the arguments.  A NULL key or weight changes nothing.  A
 * NULL list gives NULL.
 */
static Datum
change(FunctionCallInfo fcinfo, void (*by)(TopState *top, const NewKey *key, int64 weight))
{
	TopState *top;
	NewKey key;
	int64 weight;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_ARGISNULL(KEY_ARGUMENT) ||
		(PG_NARGS() > WEIGHT_ARGUMENT && PG_ARGISNULL(WEIGHT_ARGUMENT)))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	weight = weight_argument(fcinfo);
	top = StateForUpdate(&top_state_type, NULL, PG_GETARG_DATUM(0));
	KeyNewArgument(&key, fcinfo, KEY_ARGUMENT, &top->sketch.keys, &top_key_holder);
	by(top, &key, weight);
	PG_RETURN_DATUM(StateDatum(&top->keyed));
}

static void
add_key(TopState *top, const NewKey *key, int64 weight)
{
	uint32 length;
	const char *text = text_of(key, &length);

	if (weight > PG_INT64_MAX - top->sketch.total)
		SketchCheck(QB_TOTAL_OVERFLOW);
	TopSetKey(top, &key->type);
	TopCountNow(top, key->fingerprint, text, length, weight);
	top->keyed.key.type = InvalidOid;
}

static void
remove_key(TopState *top, const NewKey *key, int64 weight)
{
	qs_sketch removed;

	TopFlush(top);
	qs_init(&removed, &top->sketch.params, &top->keyed.memory);
	SketchCheck(qs_engine_cpu.insert(&removed, &key->fingerprint, &weight, 1));
	SketchCheck(qs_top_subtract(&top->top, &top->sketch, NULL, &removed));
	qs_free(&removed);
}

/* qtop_add(qtop, key [, weight]) */
SQL_FUNCTION(qtop_add, change(fcinfo, add_key));

/* qtop_remove(qtop, key [, weight]) */
SQL_FUNCTION(qtop_remove, change(fcinfo, remove_key));

/* qtop_merge(qtop, qtop) */
static Datum
merge(FunctionCallInfo fcinfo)
{
	return StateMerged(fcinfo, &top_state_type);
}

SQL_FUNCTION(qtop_merge, MergeUnlessNull(fcinfo, merge));

/* Subtract the second list from the first list. */
static Datum
subtract(FunctionCallInfo fcinfo)
{
	TopReader reader;
	TopState *top;

	TopRead(&reader, PG_GETARG_DATUM(1));
	top = StateForUpdate(&top_state_type, NULL, PG_GETARG_DATUM(0));
	TopCheckMergeable(top, &reader);
	TopFlush(top);
	SketchCheck(qs_top_subtract(&top->top, &top->sketch, reader.top, reader.sketch));
	TopReadEnd(&reader);
	PG_RETURN_DATUM(StateDatum(&top->keyed));
}

SQL_FUNCTION(qtop_subtract, SubtractUnlessNull(fcinfo, subtract));

/*
 * qtop_fold(qtop, n, size): the list for n keys.  Its sketch is folded to "size", unless "size" is
 * NULL.
 */
PG_FUNCTION_INFO_V1(qtop_fold);
Datum
qtop_fold(PG_FUNCTION_ARGS)
{
	TopState *top;
	uint32 n;
	uint64 buckets;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	n = TopCheckN(PG_GETARG_INT32(1));
	top = StateForUpdate(&top_state_type, NULL, PG_GETARG_DATUM(0));
	if (n > top->top.n)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot fold list of %u top keys to %u", top->top.n, n),
						errhint("The number of keys can only become smaller.")));
	buckets = PG_ARGISNULL(2) ? top->sketch.params.n
							  : SketchFoldedN(&top->sketch.params, PG_GETARG_TEXT_PP(2));
	TopMaterialize(top);
	SketchCheck(qs_top_fold(&top->top, &top->sketch, n, buckets));
	PG_RETURN_DATUM(StateDatum(&top->keyed));
}

/* ---- input and output ---- */

/* True if all texts are valid in their encoding, which is UTF-8 or unknown. */
static bool
texts_are_valid(const qs_top *top, const qs_sketch *sketch)
{
	int encoding = sketch->keys.text == QB_TEXT_BYTES ? PG_SQL_ASCII : PG_UTF8;
	qs_top_position cursor = { 0 };
	qs_top_key key;

	while (qs_top_next(top, &cursor, &key))
		if (!pg_verify_mbstr(encoding, (const char *) key.text, (int) key.length, true))
			return false;
	return true;
}

/*
 * Check a valid list from a user.  Raise an error if its sketch would be too large to store, or if
 * its texts or the facts about its keys are invalid.
 */
static void
check(struct varlena *value, int sqlstate)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qs_top top;
	qs_sketch sketch;

	TopOpenAs(&top, &sketch, value, sqlstate);
	SketchCheckStorable(&sketch.params);
	if (top.texts && !texts_are_valid(&top, &sketch))
		FormatRaise(&top_format, QB_FORMAT_ENTRIES, sqlstate, bytes, length);
}

/*
 * Return a hint for a text that is no list, or NULL.  A user who writes a number probably means the
 * number of keys.
 */
static char *
hint(const char *text)
{
	if (*text != '\0' && strspn(text, "0123456789") == strlen(text))
		return psprintf("An empty one for %s keys is qtop_new(%s).", text, text);
	return NULL;
}

static const FlatType qtop = {
	.name = "qtop",
	.format = &top_format,
	.validate = qs_top_validate_pausing,
	.check = check,
	.hint = hint,
};

FLAT_FUNCTIONS(qtop);
