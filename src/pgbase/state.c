/*
 * state.c
 *		What the states of aggregates of all families begin with.
 *
 * An expanded object is recognized by the address of its methods, which no value that a
 * user makes can have.
 *
 * src/pgbase/state.c
 */
#include "pgbase/state.h"

#include "pgbase/estimate.h"

#include "access/parallel.h"
#include "lib/ilist.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

void *
StateCreate(const KeyedStateType *type, MemoryContext context)
{
	KeyedState *state = MemoryContextAllocZero(context, type->size);

	EOH_init_header(&state->header, &type->methods, context);
	ContextMemory(context, &state->memory);
	return state;
}

struct varlena *
StatePointer(KeyedState *state)
{
	void *pointer = palloc(EXPANDED_POINTER_SIZE);

	return memcpy(pointer, DatumGetPointer(EOHPGetRODatum(&state->header)), EXPANDED_POINTER_SIZE);
}

/* The child context of this name.  Names are compared by address. */
static MemoryContext
child_of(MemoryContext parent, const char *name)
{
	MemoryContext child;

	for (child = parent->firstchild; child != NULL; child = child->nextchild)
		if (child->name == name)
			return child;
	return AllocSetContextCreateInternal(parent, name, ALLOCSET_DEFAULT_SIZES);
}

MemoryContext
StateContext(const KeyedStateType *type, MemoryContext aggregate)
{
	return aggregate ? child_of(aggregate, type->states_context)
					 : StateOwnContext(type, CurrentMemoryContext);
}

MemoryContext
StateOwnContext(const KeyedStateType *type, MemoryContext parent)
{
	return AllocSetContextCreateInternal(parent, type->own_context, ALLOCSET_SMALL_SIZES);
}

void *
StateExpandedIn(Datum datum, const KeyedStateType *type)
{
	ExpandedObjectHeader *header;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
		return NULL;
	header = DatumGetEOHP(datum);
	if (header->eoh_methods != &type->methods)
		elog(ERROR, "expanded object is not %s", type->value);
	return header;
}

void *
StateToChange(Datum datum, const KeyedStateType *type)
{
	return VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(datum)) ? StateExpandedIn(datum, type)
																  : NULL;
}

void *
StateForUpdate(const KeyedStateType *type, MemoryContext aggregate, Datum datum)
{
	void *state = StateToChange(datum, type);

	return state ? state : type->copy(StateContext(type, aggregate), datum);
}

Datum
StateMerged(FunctionCallInfo fcinfo, const KeyedStateType *type)
{
	KeyedState *state = StateForUpdate(type, NULL, PG_GETARG_DATUM(0));

	type->add(state, PG_GETARG_DATUM(1), false);
	return StateDatum(state);
}

void
StateBeginCounting(KeyedState *state)
{
	if (state->counting)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s is incomplete, since an error has ended the counting of its keys",
						StateTypeOf(state)->value),
				 errhint("Repeat the query without that error.")));
	state->counting = true;
}

Size
StatePassBytes(KeyedState *state)
{
	return StateSizeWithRemovals(state, StateTypeOf(state)->pass_bytes(state));
}

void
StatePass(KeyedState *state, void *place, Size bytes)
{
	void *own = StateWriteRemovals(state, place, &bytes);

	StateTypeOf(state)->pass(state, own, bytes);
}

void
StateMergePassed(KeyedState *state, void *passed)
{
	StateApart apart;

	StateTakeApart(&apart, PointerGetDatum(passed));
	StateTypeOf(state)->merge(state, DatumGetPointer(apart.state));
	StateTakeBack(&apart, state);
}

/* ---- partial states with removals ---- */

static const TokenMagic with_removals = { { 'Q', 'S', 'R', '1' } };

/* The header, before a sketch, and a state at the next offset that is aligned. */
typedef struct RemovalsHeader
{
	char length[VARHDRSZ];
	TokenMagic magic;
} RemovalsHeader;

static Size
offset_of_state(Size removals)
{
	return sizeof(RemovalsHeader) + MAXALIGN(removals);
}

Size
StateSizeWithRemovals(KeyedState *state, Size bytes)
{
	if (state->removed == NULL)
		return bytes;
	return CheckSize(StateTypeOf(state)->value,
					 offset_of_state(EOH_get_flat_size(&state->removed->header)) + bytes, NULL);
}

void *
StateWriteRemovals(KeyedState *state, void *place, Size *bytes)
{
	RemovalsHeader header = { .magic = with_removals };
	Size removals;
	Size offset;

	if (state->removed == NULL)
		return place;
	removals = EOH_get_flat_size(&state->removed->header);
	offset = offset_of_state(removals);
	memset(place, 0, offset);
	memcpy(place, &header, sizeof(header));
	SET_VARSIZE(place, *bytes);
	EOH_flatten_into(&state->removed->header, (char *) place + sizeof(header), removals);
	*bytes -= offset;
	return (char *) place + offset;
}

/* Has a flat datum, which need not be a state, that header? */
static bool
has_removals(Datum datum)
{
	const char *value = DatumGetPointer(datum);

	return !VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value) &&
		   VARSIZE_ANY_EXHDR(value) > sizeof(TokenMagic) &&
		   memcmp(VARDATA_ANY(value), &with_removals, sizeof(TokenMagic)) == 0;
}

/* The value at an offset of a varlena. */
static struct varlena *
value_at(struct varlena *all, Size offset)
{
	struct varlena *value = (struct varlena *) ((char *) all + offset);
	Size size = VARSIZE(all);

	if (offset + VARHDRSZ > size || !VARATT_IS_4B_U(value) || VARSIZE(value) < VARHDRSZ ||
		VARSIZE(value) > size - offset)
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("partial state of an aggregate is not valid")));
	return value;
}

/* Take the removals of an object.  It has them again afterwards. */
void
StateTakeObjectApart(StateApart *apart, KeyedState *from)
{
	if (from->removed == NULL)
		return;
	apart->from = from;
	apart->removals = EOHPGetRODatum(&from->removed->header);
	from->removed = NULL;
}

void
StateTakeApart(StateApart *apart, Datum datum)
{
	struct varlena *all;
	struct varlena *removals;

	memset(apart, 0, sizeof(*apart));
	apart->state = datum;
	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)) || !has_removals(datum))
		return;
	all = ValueDetoast(datum, &apart->own);
	removals = value_at(all, sizeof(RemovalsHeader));
	apart->removals = PointerGetDatum(removals);
	apart->state = PointerGetDatum(value_at(all, offset_of_state(VARSIZE(removals))));
}

void
StateTakeBack(const StateApart *apart, KeyedState *into)
{
	if (apart->from)
		apart->from->removed = (KeyedState *) DatumGetEOHP(apart->removals);
	if (apart->removals != 0 && apart->from != into)
		StateTypeOf(into)->take_back(into, apart->removals);
	if (apart->own)
		pfree(apart->own);
}

/*
 * ---- a partial state that the process itself combines, passed by a token ----
 *
 * In a parallel plan the leader, too, makes a partial state, and its Finalize Aggregate
 * combines that with those of the workers.  The executor copies the first partial state
 * on the way, and the combine function would make tables of the copy: of a large sketch
 * that took more than half of the leader's time.  So the combine function gets a token
 * instead, and takes the state over as it is.
 *
 * A token is a value, so it names nothing by itself.  Its number is looked up
 * in a list of this process.  It is good once, only in our combine function, and while
 * the state lives.  A worker's state is merged by another process, so it travels as a
 * value.  No state of a group gets a token, since a sort could return it twice.
 *
 * Only our combine function gets to see a token, since only a state of an aggregate that
 * belongs to a superuser gets one (AggregateLasts()).  A user who saw a token could store
 * it in a table, where it would be no value.  He could also redeem it while the query that
 * wrote it still reads the state.
 */

static const TokenMagic magic = { { 'Q', 'S', 'L', '1' } };

/* A state for which a token was written.  It lies in the context of the state. */
typedef struct TokenHolder
{
	dlist_node node;
	KeyedState *state; /* NULL: it was taken over */
	TokenNumber number;
	MemoryContextCallback gone; /* when the context of the state is */
} TokenHolder;

static dlist_head holders = DLIST_STATIC_INIT(holders);

/* A state that shares its context with others cannot be taken over. */
bool
StateTakesToken(const KeyedState *state)
{
	return state->token && !IsParallelWorker() &&
		   state->header.eoh_context->name == StateTypeOf(state)->own_context;
}

Size
StateTokenSize(void)
{
	return sizeof(Token);
}

static void
let_go(void *argument)
{
	TokenHolder *holder = argument;

	if (holder->state)
		dlist_delete(&holder->node);
	holder->state = NULL;
}

static TokenHolder *
holder_of(const KeyedState *state)
{
	dlist_iter at;

	dlist_foreach(at, &holders)
	{
		TokenHolder *holder = dlist_container(TokenHolder, node, at.cur);

		if (holder->state == state)
			return holder;
	}
	return NULL;
}

static TokenHolder *
create_holder(KeyedState *state)
{
	MemoryContext context = state->header.eoh_context;
	TokenHolder *holder = MemoryContextAllocZero(context, sizeof(TokenHolder));

	holder->number = TokenDraw();
	holder->state = state;
	dlist_push_head(&holders, &holder->node);
	holder->gone = (MemoryContextCallback){ .func = let_go, .arg = holder };
	MemoryContextRegisterResetCallback(context, &holder->gone);
	return holder;
}

void
StateTokenWrite(KeyedState *state, struct varlena *out)
{
	TokenHolder *holder = holder_of(state);

	if (holder == NULL)
		holder = create_holder(state);
	TokenWrite(magic, holder->number, out);
}

void *
StateOfToken(Datum datum, const KeyedStateType *type, MemoryContext context)
{
	TokenNumber number;
	dlist_iter at;

	if (!TokenIs(magic, datum))
		return NULL;
	number = TokenRead(datum);
	dlist_foreach(at, &holders)
	{
		TokenHolder *holder = dlist_container(TokenHolder, node, at.cur);
		KeyedState *state = holder->state;

		if (memcmp(&holder->number, &number, sizeof(number)) != 0 || StateTypeOf(state) != type)
			continue;
		let_go(holder);
		state->token = state->passed_on = false;
		state->count = 0;
		MemoryContextSetParent(state->header.eoh_context, context);
		return state;
	}
	TokenGone();
	return NULL;
}

Size
StateFlatBytes(KeyedState *state)
{
	if (!StateTakesToken(state))
		return StatePassBytes(state);
	StateTypeOf(state)->flush(state);
	return StateTokenSize();
}

static void
write_flat(KeyedState *state, void *place, Size bytes)
{
	if (StateTakesToken(state))
		StateTokenWrite(state, place);
	else
		StatePass(state, place, bytes);
}

/* Enter the memory context in which flat_bytes and write_flat run (STATE_METHODS). */
static MemoryContext
enter_scratch(MemoryContext *scratch)
{
	*scratch =
		AllocSetContextCreate(CurrentMemoryContext, "qsketch flattening", ALLOCSET_SMALL_SIZES);
	return MemoryContextSwitchTo(*scratch);
}

static void
leave_scratch(MemoryContext scratch, MemoryContext old)
{
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

Size
StateFlatSize(ExpandedObjectHeader *header)
{
	KeyedState *state = (KeyedState *) header;
	const KeyedStateType *type = StateTypeOf(state);
	MemoryContext scratch;
	MemoryContext old = enter_scratch(&scratch);
	Size bytes = type->flat_bytes ? type->flat_bytes(state) : StateFlatBytes(state);

	leave_scratch(scratch, old);
	return bytes;
}

void
StateFlatten(ExpandedObjectHeader *header, void *result, Size size)
{
	KeyedState *state = (KeyedState *) header;
	const KeyedStateType *type = StateTypeOf(state);
	MemoryContext scratch;
	MemoryContext old = enter_scratch(&scratch);

	if (type->write_flat)
		type->write_flat(state, result, size);
	else
		write_flat(state, result, size);
	leave_scratch(scratch, old);
}

/*
 * ---- how much memory the state of a group takes, and what merging it costs, for the planner ----
 *
 * The planner uses this number to choose between hashing and sorting.  The executor
 * uses it to decide how many groups a hash aggregate keeps at a time: it looks at their
 * real size only when another group comes, and all of them may grow after that.  The
 * declaration of an aggregate has one number for all queries (SSPACE).  But a group of
 * ten keys takes a kilobyte, and a group of ten thousand takes the megabyte of a dense
 * value.
 *
 * So the number is corrected for each query.  The planner asks the support function of
 * a transition function for its cost just before it adds up the sizes.  At that point
 * the query is known, and the size of a state follows from the rows of a group (estimate.c).
 * Where a size cannot be estimated, the declared number stays.
 *
 * From PostgreSQL 19 on the planner also considers to aggregate below a join ("eager
 * aggregation"), and asks before there is a path of the join.  The groups are then those
 * of one relation or of some joined ones, and there may be far more of them.
 */

/* The relation that is grouped, or NULL. */
static RelOptInfo *
input_of(PlannerInfo *root)
{
#if PG_VERSION_NUM >= 160000
	Relids relids = root->all_query_rels;
#else
	Relids relids = root->all_baserels;
#endif
	int single;

	if (bms_get_singleton_member(relids, &single))
		return root->simple_rel_array[single];
	return bms_is_empty(relids) ? NULL : find_join_rel(root, relids);
}

#if PG_VERSION_NUM >= 190000

/* Take the rows and groups of a relation whose groups are the largest so far. */
static void
take_larger_groups(const RelOptInfo *relation, double *rows, double *groups)
{
	const RelOptInfo *grouped = relation ? relation->grouped_rel : NULL;

	if (grouped == NULL || grouped->agg_info == NULL)
		return;
	if (*groups > 0 && relation->rows / grouped->agg_info->grouped_rows <= *rows / *groups)
		return;
	*rows = relation->rows;
	*groups = Max(1, grouped->agg_info->grouped_rows);
}

/*
 * Estimate the rows and groups of an aggregation below a join.  The planner does not say
 * which relation it asks for, so the relation with the largest groups counts.
 */
static bool
input_below_join(PlannerInfo *root, double *rows, double *groups)
{
	ListCell *cell;
	int i;

	*groups = 0;
	for (i = 1; i < root->simple_rel_array_size; i++)
		take_larger_groups(root->simple_rel_array[i], rows, groups);
	foreach (cell, root->join_rel_list)
		take_larger_groups(lfirst(cell), rows, groups);
	return *groups > 0;
}

#else

static bool
input_below_join(PlannerInfo *root, double *rows, double *groups)
{
	return false;
}

#endif

/*
 * Estimate the rows that a query aggregates and the number of groups, which is 1 without
 * GROUP BY; false if the rows are not known.
 */
bool
StateInput(PlannerInfo *root, double *rows, double *groups)
{
	RelOptInfo *input = input_of(root);
	List *expressions = get_sortgrouplist_exprs(root->parse->groupClause, root->parse->targetList);

	if (input == NULL || input->cheapest_total_path == NULL)
		return input_below_join(root, rows, groups);
	*rows = input->cheapest_total_path->rows;
	*groups = 1;
	if (expressions != NIL)
		*groups = EstimateGroupsForSize(root, expressions, *rows);
	return true;
}

/* The template: the last argument, if it is a constant of the state's type; else NULL. */
static const Const *
constant_template(const AggTransInfo *info)
{
	int last = list_length(info->args) - 1;
	const Const *template = (Const *) list_nth_node(TargetEntry, info->args, last)->expr;

	if (last == 0 || !IsA(template, Const) || template->constisnull ||
		template->consttype != info->aggtranstype)
		return NULL;
	return template;
}

/* Distinct keys of all rows; as many as rows if the planner could only guess. */
static double
estimate_keys(PlannerInfo *root, Expr *key, double rows)
{
	EstimationInfo how = { 0 };
	double keys = estimate_num_groups(root, list_make1(key), rows, NULL, &how);

	return how.flags & SELFLAG_USED_DEFAULT ? rows : keys;
}

/*
 * Set the size of a state.  Its keys are at most the rows of its group, and at most the
 * distinct keys of all rows.
 */
static void
set_space(PlannerInfo *root, AggTransInfo *info, double rows, double groups, StateSize space)
{
	Expr *key = linitial_node(TargetEntry, info->args)->expr;
	double keys = Min(estimate_keys(root, key, rows), rows / groups);
	double bytes = space(constant_template(info), keys, rows / groups);

	if (bytes > 0)
		info->aggtransspace = (int32) Min(bytes, MaxAllocSize);
}

/*
 * Planner support of transition functions.  The answer says that the default cost is
 * right.  What matters is that the planner asks: that loads the module before the paths
 * of a session's first query are made.
 */
Datum
StateSizeSupport(FunctionCallInfo fcinfo, StateSize space)
{
	SupportRequestCost *request = (SupportRequestCost *) PG_GETARG_POINTER(0);
	double rows;
	double groups;
	ListCell *cell;

	if (!IsA(request, SupportRequestCost) || request->root == NULL ||
		request->root->parse->groupClause == NIL || !StateInput(request->root, &rows, &groups))
		PG_RETURN_POINTER(NULL);
	foreach (cell, request->root->aggtransinfos)
	{
		AggTransInfo *info = lfirst(cell);

		if (info->transfn_oid == request->funcid && info->args != NIL)
			set_space(request->root, info, rows, groups, space);
	}
	PG_RETURN_POINTER(NULL);
}

/*
 * Planner support of combine functions, with GROUP BY.  PostgreSQL counts neither the bytes of
 * partial states nor how long merging them takes, so that many workers would seem to be fast
 * where they send a large state of each group.  The planner asks after it has asked
 * for the cost of partial states, whose sizes are known by then.
 *
 * From PostgreSQL 19 on the planner takes this cost for partial states below a join as well,
 * which stay in their process.  There the declared cost is the answer.
 */
Datum
StateCombineSupport(FunctionCallInfo fcinfo)
{
	SupportRequestCost *request = (SupportRequestCost *) PG_GETARG_POINTER(0);
	double bytes = 0;
	ListCell *cell;

	if (PG_VERSION_NUM >= 190000 || !IsA(request, SupportRequestCost) || request->root == NULL ||
		request->root->parse->groupClause == NIL)
		PG_RETURN_POINTER(NULL);
	foreach (cell, request->root->aggtransinfos)
	{
		const AggTransInfo *info = lfirst(cell);

		if (info->combinefn_oid == request->funcid)
			bytes = Max(bytes, info->aggtransspace);
	}
	request->startup = 0;
	request->per_tuple = (PASSED_SHARE + bytes / BLCKSZ * PASSED_BLOCK_SHARE) * cpu_tuple_cost;
	PG_RETURN_POINTER(request);
}
