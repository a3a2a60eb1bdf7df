/*
 * sets_functions.c
 *		Functions and aggregates of collections of sets; input and output.
 *
 * The aggregates are qsets_agg and qsets_merge_agg.  Their state is an expanded qsets in the
 * aggregate's context, and partial states are passed as ordinary values.  At the first row, the
 * state takes the type of the elements from the call's argument, and keeps the type.  A NULL state
 * has no rows yet.  Transition functions run in aggregates only, so no other function receives a
 * state.
 *
 * src/pg/sets_functions.c
 */
#include "pg/sets_elements.h"

#include "catalog/pg_type_d.h"
#include "engine/sets_kernels.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "pg/flat.h"
#include "pgbase/aggregate.h"
#include "pgbase/estimate.h"
#include "sets/collection.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#define ID_ARGUMENT      1
#define ELEMENT_ARGUMENT 2

extern Datum qsets_agg_trans(PG_FUNCTION_ARGS);
extern Datum qsets_merge_trans(PG_FUNCTION_ARGS);

extern Datum qsets_agg_final(PG_FUNCTION_ARGS);

static const ArgumentLayout numbered = { .weight = ID_ARGUMENT };

const AggregateFunctions sets_functions = {
	.key = ELEMENT_ARGUMENT,
	.transition = { { qsets_agg_trans, &numbered } },
	.combine = { qsets_merge_trans },
	.final = qsets_agg_final,
};

/*
 * Return the state argument if it can be changed in place, else a new state.  The new state has the
 * sets of the state argument.
 */
static SetsState *
state_for_update(FunctionCallInfo fcinfo)
{
	MemoryContext context = AggregateContext(fcinfo);
	SetsState *state = PG_ARGISNULL(0) ? NULL : StateToChange(PG_GETARG_DATUM(0), &sets_state_type);
	SetsReader reader;

	if (state)
		return state;
	(void) AggregateMoves(fcinfo);
	state = SetsCreate(StateContext(&sets_state_type, context));
	if (!PG_ARGISNULL(0))
	{
		SetsRead(&reader, PG_GETARG_DATUM(0));
		SetsAddCollection(state, reader.collection);
		SetsReadEnd(&reader);
	}
	return state;
}

/* The elements of a row: a single element, or the elements of an array. */
typedef struct Elements
{
	Datum one;
	bool none;
	ElementArray all;
} Elements;

/* Set the type of the elements: the argument's type, or the element type of an array argument. */
static void
learn_type(FunctionCallInfo fcinfo, SetsState *state)
{
	KeyArgument key;
	Oid type;

	KeyArgumentOf(&key, fcinfo, ELEMENT_ARGUMENT);
	type = get_base_element_type(key.type);
	state->arrays = OidIsValid(type);
	SetsTakeKeys(state, state->arrays ? type : key.type, key.collation);
}

static void
elements_of(Elements *elements, const SetsState *state, Datum argument)
{
	if (state->arrays)
	{
		ElementsTakeApart(&elements->all, &state->keyed.key, argument);
		return;
	}
	*elements = (Elements){ .one = argument };
	elements->all = (ElementArray){ &elements->one, &elements->none, 1 };
}

/* qsets_agg_trans(qsets, set_id bigint, element): adds an element, or all elements of an array */
PG_FUNCTION_INFO_V1(qsets_agg_trans);
Datum
qsets_agg_trans(PG_FUNCTION_ARGS)
{
	SetsState *state;
	Elements elements;
	bool begins;
	int i;

	if (PG_ARGISNULL(ID_ARGUMENT) || PG_ARGISNULL(ELEMENT_ARGUMENT))
		return AggregateUnchanged(fcinfo);
	state = state_for_update(fcinfo);
	begins = state->keyed.key.type == InvalidOid || !state->building;
	if (unlikely(state->keyed.key.type == InvalidOid))
		learn_type(fcinfo, state);
	elements_of(&elements, state, PG_GETARG_DATUM(ELEMENT_ARGUMENT));
	if (unlikely(begins) && KeyTypeLearnArray(&state->keyed.key, elements.all.value,
											  elements.all.null, elements.all.count))
		SetsBuild(state, !state->exact, &state->keyed.key.keys);
	for (i = 0; i < elements.all.count; i++)
		if (!elements.all.null[i])
			SetsAddKey(state, PG_GETARG_INT64(ID_ARGUMENT), elements.all.value[i]);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/* A collection of fewer bytes is copied into the context that all states of the aggregate share. */
#define LARGE_COLLECTION 65536

/*
 * Make a row's collection the state, without a copy.  False: a state exists, or the collection is
 * small, flat or read-only.
 */
static bool
take_over(FunctionCallInfo fcinfo, Datum *state)
{
	MemoryContext context = AggregateContext(fcinfo);
	SetsState *first;

	if (!PG_ARGISNULL(0) || !VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(PG_GETARG_DATUM(1))))
		return false;
	first = SetsStateIn(PG_GETARG_DATUM(1));
	if (qset_collection_memory(&first->collection) < LARGE_COLLECTION)
		return false;
	(void) AggregateMoves(fcinfo);
	*state = TransferExpandedObject(PG_GETARG_DATUM(1), context);
	return true;
}

/* qsets_merge_trans(qsets, qsets): adds a row of qsets_merge_agg, or a partial state. */
PG_FUNCTION_INFO_V1(qsets_merge_trans);
Datum
qsets_merge_trans(PG_FUNCTION_ARGS)
{
	SetsState *state;
	SetsReader reader;
	Datum taken;

	if (PG_ARGISNULL(1))
		return AggregateUnchanged(fcinfo);
	if (take_over(fcinfo, &taken))
		PG_RETURN_DATUM(taken);
	state = state_for_update(fcinfo);
	SetsRead(&reader, PG_GETARG_DATUM(1));
	SetsAddCollection(state, reader.collection);
	SetsReadEnd(&reader);
	PG_RETURN_DATUM(StateDatum(&state->keyed));
}

/* qsets_agg_final(qsets): returns a read-only pointer to the state, without a copy. */
SQL_FUNCTION(qsets_agg_final, AggregateFinal(fcinfo, &sets_state_type));

/* ---- the size of a state, and the cost of combining partial states, for the planner ---- */

/* Bytes of the tables of ids, elements and rows when they are first allocated. */
#define SMALLEST 4096

/*
 * ROW: average bytes for a row, in an array that grows by doubling.  LABEL: average bytes for an id
 * or an element in a dictionary with slots, if keys have 64 bits.
 */
#define ROW   (1.5 * sizeof(uint64))
#define LABEL (3 * sizeof(qset_slot) + 1.5 * sizeof(uint64))

/* Estimate the bytes of a state with "keys" sets, as if all elements were distinct. */
static double
state_space(const Const *template, double keys, double rows)
{
	return SMALLEST + rows * (ROW + LABEL) + keys * LABEL;
}

SQL_FUNCTION(qsets_support, StateSizeSupport(fcinfo, state_space));

/* The cost of adding a row, in units of cpu_operator_cost: the transition function's COST. */
#define COST_OF_ROW 10

/*
 * Planner support of the combine function of qsets_agg.  The leader adds the rows of all partial
 * states.  So it has as much work as a process that makes the collection without workers.
 */
PG_FUNCTION_INFO_V1(qsets_combine_support);
Datum
qsets_combine_support(PG_FUNCTION_ARGS)
{
	SupportRequestCost *request = (SupportRequestCost *) PG_GETARG_POINTER(0);
	double processes = Max(max_parallel_workers_per_gather, 1); /* as the planner assumes */
	double rows;
	double groups;

	if (!IsA(request, SupportRequestCost) || request->root == NULL ||
		!StateInput(request->root, &rows, &groups))
		PG_RETURN_POINTER(NULL);
	request->startup = 0;
	request->per_tuple = rows / groups / processes * COST_OF_ROW * cpu_operator_cost;
	PG_RETURN_POINTER(request);
}

/* ---- facts and subsets of a collection, and merging two collections ---- */

/* Return a collection that has, for each id, the union of both arguments' sets. */
static Datum
merge(FunctionCallInfo fcinfo)
{
	SetsState *merged = SetsNew();
	SetsReader reader;
	int i;

	for (i = 0; i < 2; i++)
	{
		SetsRead(&reader, PG_GETARG_DATUM(i));
		SetsAddCollection(merged, reader.collection);
		SetsReadEnd(&reader);
	}
	SetsMaterialize(merged);
	PG_RETURN_DATUM(StateDatum(&merged->keyed));
}

SQL_FUNCTION(qsets_merge, MergeUnlessNull(fcinfo, merge));

/* Call "answer" with the collection in the first argument. */
static Datum
ask(FunctionCallInfo fcinfo, Datum (*answer)(FunctionCallInfo fcinfo, const qset_collection *c))
{
	SetsReader reader;
	Datum result;

	SetsRead(&reader, PG_GETARG_DATUM(0));
	result = answer(fcinfo, reader.collection);
	SetsReadEnd(&reader);
	return result;
}

static Datum
count_of(FunctionCallInfo fcinfo, const qset_collection *c)
{
	return Int64GetDatum((int64) c->sets);
}

/* qsets_count(qsets): the number of sets */
SQL_FUNCTION(qsets_count, ask(fcinfo, count_of));

static Datum
array_of(const int64 *number, uint64 count)
{
	Size bytes = ARR_OVERHEAD_NONULLS(1) + count * sizeof(int64);
	ArrayType *array;

	if (count == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(INT8OID));
	array = SetsFinishArray(palloc0(bytes), count, INT8OID, sizeof(int64));
	memcpy(ARR_DATA_PTR(array), number, count * sizeof(int64));
	PG_RETURN_ARRAYTYPE_P(array);
}

static Datum
ids_of(FunctionCallInfo fcinfo, const qset_collection *c)
{
	return array_of(c->id, c->sets);
}

/* qsets_ids(qsets): an array of the sets' ids, ascending */
SQL_FUNCTION(qsets_ids, ask(fcinfo, ids_of));

static Datum
cardinality_of(FunctionCallInfo fcinfo, const qset_collection *c)
{
	int64 set = qset_collection_find(c, PG_GETARG_INT64(1));

	return Int64GetDatum(set < 0 ? 0 : qset_set_size(c, set));
}

/* qsets_cardinality(qsets, id): the number of the set's elements; 0: no set has this id */
SQL_FUNCTION(qsets_cardinality, ask(fcinfo, cardinality_of));

static Datum
elements_of_set(FunctionCallInfo fcinfo, const qset_collection *c)
{
	int64 set;
	int64 *number;
	uint64 size;
	uint64 i;

	if (c->wide)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a collection of %s keys does not know its elements",
							   KeyFamilyTypes(c->keys.family)),
						errdetail("Keys of types of at most 64 bits are kept as they are, all "
								  "others as fingerprints of 128 "
								  "bits.")));
	set = qset_collection_find(c, PG_GETARG_INT64(1));
	size = set < 0 ? 0 : qset_set_size(c, set);
	number = palloc_extended(Max(size, 1) * sizeof(int64), MCXT_ALLOC_HUGE);
	for (i = 0; i < size; i++)
		number[i] = (int64) c->low[qset_set_ranks(c, set)[i]];
	return array_of(number, size);
}

/* qsets_elements(qsets, id): an ascending array of the elements as numbers; empty: no such set */
SQL_FUNCTION(qsets_elements, ask(fcinfo, elements_of_set));

/* Return the ids of an array, without NULLs. */
static int64 *
ids_argument(ArrayType *array, uint64 *count)
{
	Datum *value;
	bool *null;
	int items;
	int64 *id;
	int i;

	deconstruct_array(array, INT8OID, sizeof(int64), true, TYPALIGN_DOUBLE, &value, &null, &items);
	id = palloc(Max(items, 1) * sizeof(int64));
	*count = 0;
	for (i = 0; i < items; i++)
		if (!null[i])
			id[(*count)++] = DatumGetInt64(value[i]);
	return id;
}

/* qsets_subset(qsets, ids bigint[]): the sets with these ids; ids without a set are ignored */
PG_FUNCTION_INFO_V1(qsets_subset);
Datum
qsets_subset(PG_FUNCTION_ARGS)
{
	uint64 count;
	int64 *id = ids_argument(PG_GETARG_ARRAYTYPE_P(1), &count);
	SetsState *subset = SetsNew();
	SetsReader reader;

	SetsRead(&reader, PG_GETARG_DATUM(0));
	qset_collection_free(&subset->collection);
	SetsCheck(qset_collection_subset(&subset->collection, reader.collection, id, count,
									 &subset->keyed.memory));
	SetsReadEnd(&reader);
	PG_RETURN_DATUM(StateDatum(&subset->keyed));
}

static Datum
intersect_count_of(FunctionCallInfo fcinfo, const qset_collection *c)
{
	int64 a = qset_collection_find(c, PG_GETARG_INT64(1));
	int64 b = qset_collection_find(c, PG_GETARG_INT64(2));

	if (a < 0 || b < 0)
		return Int64GetDatum(0);
	return Int64GetDatum(qset_count32(qset_kernels_now(), (const int32 *) qset_set_ranks(c, a),
									  qset_set_size(c, a), (const int32 *) qset_set_ranks(c, b),
									  qset_set_size(c, b)));
}

/* qsets_intersect_count(qsets, id, id): the number of common elements; 0 if an id has no set */
SQL_FUNCTION(qsets_intersect_count, ask(fcinfo, intersect_count_of));

/* Columns of qsets_info(), in the order of its declaration. */
enum
{
	INFO_SETS,
	INFO_ELEMENTS,
	INFO_DISTINCT,
	INFO_LARGEST,
	INFO_EXACT,
	INFO_FAMILY,
	INFO_MEMORY,
	INFO_BYTES,
	INFO_COLUMNS
};

static uint32
largest_of(const qset_collection *c)
{
	uint32 largest = 0;
	uint64 i;

	for (i = 0; i < c->sets; i++)
		largest = Max(largest, qset_set_size(c, i));
	return largest;
}

static Datum
info_of(FunctionCallInfo fcinfo, const qset_collection *c)
{
	Datum values[INFO_COLUMNS];
	bool nulls[INFO_COLUMNS] = { 0 };

	values[INFO_SETS] = Int64GetDatum(c->sets);
	values[INFO_ELEMENTS] = Int64GetDatum(c->elements);
	values[INFO_DISTINCT] = Int64GetDatum(c->universe);
	values[INFO_LARGEST] = Int64GetDatum(largest_of(c));
	values[INFO_EXACT] = BoolGetDatum(!c->wide);
	SetText(values, nulls, INFO_FAMILY, KeysName(&c->keys));
	values[INFO_MEMORY] = Int64GetDatum(qset_collection_memory(c));
	values[INFO_BYTES] = Int64GetDatum(qset_flat_size(c));
	return ReturnRow(fcinfo, values, nulls);
}

SQL_FUNCTION(qsets_info, ask(fcinfo, info_of));

/* ---- input, output and comparison ---- */

/* Validate a user's bytes by reading a collection from the bytes. */
static qb_status
validate(const uint8 *bytes, size_t length, const qb_memory *memory)
{
	qset_collection collection;
	qb_status status = qset_read(&collection, bytes, length, memory);

	if (status == QB_NO_MEMORY)
		SetsCheck(status);
	if (status == QB_OK)
		qset_collection_free(&collection);
	return status;
}

/* Raise an error if the facts that a valid value stores about its elements are inconsistent. */
static void
check(struct varlena *value, int sqlstate)
{
	qset_collection header;

	qset_read_sizes((const uint8 *) VARDATA(value), &header);
	SetsCheckKeys(&header, sqlstate);
}

static char *
hint(const char *text)
{
	(void) text;
	return "Make collections with qsets_agg(set_id, element).";
}

static const FlatType qsets = {
	.name = "qsets",
	.format = &sets_format,
	.validate = validate,
	.check = check,
	.hint = hint,
};

FLAT_FUNCTIONS(qsets);
