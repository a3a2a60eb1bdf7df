/*
 * select.c
 *		The tuples of a page for which conditions are true.
 *
 * There is one loop for each kind of condition.  It writes each tuple to the place of
 * the next one that is kept, and advances that place only if the tuple passes.  So no
 * branch depends on values, and none is mispredicted.  Values are read in place where
 * the column has a fixed offset, else through heap_getattr().
 *
 * src/scan/select.c
 */
#include "scan/columns.h"
#include "scan/conditions.h"

#include "access/detoast.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/rel.h"

/* Does a tuple pass a condition?  "kind" is that of its column. */
typedef bool (*TupleTest)(const ScanCondition *condition, KeyKind kind, Relation relation,
						  HeapTupleHeader tuple, uint16 length);

static pg_attribute_always_inline bool
is_in_range(const ScanCondition *condition, KeyKind kind, Relation relation, HeapTupleHeader tuple,
			uint16 length)
{
	uint64 low = (uint64) condition->low;
	uint64 width = (uint64) condition->high - low;
	int64 number;

	return ColumnGetNumber(&condition->place, kind, relation, tuple, length, &number) &&
		   ((uint64) number - low <= width) != condition->negated;
}

/* Is the number in the ascending list? */
static inline bool
has_number(const int64 *number, int count, int64 wanted)
{
	while (count > 1)
	{
		int half = count / 2;

		number += number[half] <= wanted ? half : 0;
		count -= half;
	}
	return count == 1 && *number == wanted;
}

static pg_attribute_always_inline bool
is_in_list(const ScanCondition *condition, KeyKind kind, Relation relation, HeapTupleHeader tuple,
		   uint16 length)
{
	int64 number;

	return ColumnGetNumber(&condition->place, kind, relation, tuple, length, &number) &&
		   has_number(condition->number, condition->count, number) != condition->negated;
}

static bool
is_one_of(const ScanCondition *condition, const struct varlena *value)
{
	struct varlena *plain = NULL;
	Size length = toast_raw_datum_size(PointerGetDatum(value)) - VARHDRSZ;
	bool found = false;
	int i;

	for (i = 0; i < condition->count && !found; i++)
	{
		if (condition->string[i].length != length)
			continue;
		if (plain == NULL)
			plain = PG_DETOAST_DATUM_PACKED(PointerGetDatum(value));
		found = memcmp(VARDATA_ANY(plain), condition->string[i].bytes, length) == 0;
	}
	if (plain && plain != value)
		pfree(plain);
	return found;
}

static pg_attribute_always_inline bool
is_string(const ScanCondition *condition, KeyKind kind, Relation relation, HeapTupleHeader tuple,
		  uint16 length)
{
	const struct varlena *value = ColumnGetString(&condition->place, relation, tuple, length);

	return value && is_one_of(condition, value) != condition->negated;
}

static pg_attribute_always_inline bool
is_null(const ScanCondition *condition, KeyKind kind, Relation relation, HeapTupleHeader tuple,
		uint16 length)
{
	return ColumnIsNull(&condition->place, relation, tuple, length) != condition->negated;
}

/* Keep the tuples that pass.  "test" and "kind" are constants at each call. */
static pg_attribute_always_inline void
keep_if(TupleTest test, const ScanCondition *condition, KeyKind kind, Relation relation,
		PageTuples *tuples)
{
	int count = 0;
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		HeapTupleHeader tuple = tuples->tuple[i];
		uint16 length = tuples->length[i];

		FetchAhead(tuples, i);
		tuples->tuple[count] = tuple;
		tuples->length[count] = length;
		count += test(condition, kind, relation, tuple, length);
	}
	tuples->count = count;
}

/* Keep the tuples that pass, by a loop for the kind of the column.  "test" is a constant. */
static pg_attribute_always_inline void
keep_numbers(TupleTest test, const ScanCondition *condition, Relation relation, PageTuples *tuples)
{
	switch (condition->kind)
	{
		case KEY_UINT1:
			keep_if(test, condition, KEY_UINT1, relation, tuples);
			break;
		case KEY_INT2:
			keep_if(test, condition, KEY_INT2, relation, tuples);
			break;
		case KEY_INT4:
			keep_if(test, condition, KEY_INT4, relation, tuples);
			break;
		case KEY_FLOAT4:
			keep_if(test, condition, KEY_FLOAT4, relation, tuples);
			break;
		case KEY_FLOAT8:
			keep_if(test, condition, KEY_FLOAT8, relation, tuples);
			break;
		default:
			keep_if(test, condition, KEY_INT8, relation, tuples);
	}
}

/* Keep the tuples for which the executor finds the clause true. */
static void
keep_if_true(const ScanConditions *conditions, const ScanCondition *condition, Relation relation,
			 PageTuples *tuples)
{
	ExprContext *context = conditions->context;
	int count = 0;
	int i;

	context->ecxt_scantuple = conditions->slot;
	for (i = 0; i < tuples->count; i++)
	{
		HeapTupleData tuple = { .t_len = tuples->length[i],
								.t_tableOid = RelationGetRelid(relation),
								.t_data = tuples->tuple[i] };

		CHECK_FOR_INTERRUPTS();
		FetchAhead(tuples, i);
		ItemPointerSetInvalid(&tuple.t_self);
		ExecStoreHeapTuple(&tuple, conditions->slot, false);
		tuples->tuple[count] = tuples->tuple[i];
		tuples->length[count] = tuples->length[i];
		count += ExecQualAndReset(condition->state, context);
	}
	tuples->count = count;
}

/* Keep the tuples that pass one condition. */
static void
keep(const ScanConditions *conditions, const ScanCondition *condition, Relation relation,
	 PageTuples *tuples)
{
	switch (condition->test)
	{
		case TEST_RANGE:
			keep_numbers(is_in_range, condition, relation, tuples);
			break;
		case TEST_LIST:
			keep_numbers(is_in_list, condition, relation, tuples);
			break;
		case TEST_STRING:
			keep_if(is_string, condition, KEY_BYTES, relation, tuples);
			break;
		case TEST_NULL:
			keep_if(is_null, condition, KEY_HASHED, relation, tuples);
			break;
		case TEST_EXPRESSION:
			keep_if_true(conditions, condition, relation, tuples);
			break;
	}
	tuples->share = 0; /* the first loop has prefetched all of the next page */
}

/* Keep only the tuples that pass all conditions. */
void
ScanConditionsSelect(ScanConditions *conditions, Relation relation, PageTuples *tuples)
{
	int i;

	for (i = 0; i < conditions->count && tuples->count > 0; i++)
	{
		ScanCondition *condition = &conditions->condition[i];

		if (!condition->ready)
			ScanConditionEvaluate(conditions, condition);
		if (condition->none)
			tuples->count = 0;
		else if (!condition->all)
			keep(conditions, condition, relation, tuples);
	}
}
