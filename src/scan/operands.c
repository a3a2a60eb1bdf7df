/*
 * operands.c
 *		The operands that columns are compared with, as numbers and strings.
 *
 * An operand is evaluated once in a run: when the first row has passed all conditions
 * before this one.  The ordinary plan evaluates it at the same row.
 *
 * src/scan/operands.c
 */
#include "scan/conditions.h"

#include "executor/executor.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

/* The range of the numbers that pass a comparison with this one. */
static void
set_range(ScanCondition *condition, int64 number)
{
	int strategy = condition->strategy;

	condition->low = PG_INT64_MIN;
	condition->high = PG_INT64_MAX;
	if (strategy == BTEqualStrategyNumber || strategy == BTGreaterEqualStrategyNumber)
		condition->low = number;
	if (strategy == BTEqualStrategyNumber || strategy == BTLessEqualStrategyNumber)
		condition->high = number;
	if (strategy == BTLessStrategyNumber)
	{
		condition->none = number == PG_INT64_MIN;
		condition->high = number - !condition->none;
	}
	if (strategy == BTGreaterStrategyNumber)
	{
		condition->none = number == PG_INT64_MAX;
		condition->low = number + !condition->none;
	}
}

static void
set_string(ScanString *string, Datum value)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);

	string->bytes = VARDATA_ANY(bytes);
	string->length = VARSIZE_ANY_EXHDR(bytes);
}

static int
compare_numbers(const void *a, const void *b)
{
	int64 x = *(const int64 *) a;
	int64 y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/* Read the array.  NULL in it equals nothing; for NOT IN it lets no row pass. */
static void
set_list(ScanCondition *condition, ArrayType *array)
{
	Oid type = ARR_ELEMTYPE(array);
	int16 length;
	bool by_value;
	char align;
	Datum *value;
	bool *null;
	int total;
	int i;

	get_typlenbyvalalign(type, &length, &by_value, &align);
	deconstruct_array(array, type, length, by_value, align, &value, &null, &total);
	condition->count = 0;
	condition->number = palloc((total + 1) * sizeof(int64));
	condition->string = palloc((total + 1) * sizeof(ScanString));
	condition->all = condition->negated && total == 0;
	for (i = 0; i < total; i++)
	{
		if (null[i])
			condition->none |= condition->negated;
		else if (condition->kind == KEY_BYTES)
			set_string(&condition->string[condition->count++], value[i]);
		else
			condition->number[condition->count++] = KeyNumber(condition->operand_kind, value[i]);
	}
	if (condition->kind != KEY_BYTES)
		qsort(condition->number, condition->count, sizeof(int64), compare_numbers);
}

/* Set up a test against a single value. */
static void
set_value(ScanCondition *condition, Datum value)
{
	if (condition->kind != KEY_BYTES)
	{
		set_range(condition, KeyNumber(condition->operand_kind, value));
		return;
	}
	condition->count = 1;
	condition->string = palloc(sizeof(ScanString));
	set_string(condition->string, PointerGetDatum(PG_DETOAST_DATUM_COPY(value)));
}

/* Evaluate the operand of a condition. */
void
ScanConditionEvaluate(ScanConditions *conditions, ScanCondition *condition)
{
	MemoryContext old = MemoryContextSwitchTo(conditions->operands);
	bool null;
	Datum value = ExecEvalExpr(condition->state, conditions->context, &null);

	condition->all = false;
	condition->none = null;
	if (!null && condition->operand_is_array)
		set_list(condition, DatumGetArrayTypePCopy(value));
	else if (!null)
		set_value(condition, value);
	condition->ready = true;
	MemoryContextSwitchTo(old);
}
