/*
 * copy_view.c
 *		The view qsketch_gpu_columns: which columns of this database have copies, or had
 *		some that were pushed out.
 *
 * A row says how many keys a column has, and when it was last used.  So it is shown to
 * those who could count the keys themselves: they may read the column, and no row
 * security hides rows from them.
 *
 * src/scan/copy_view.c
 */
#include "scan/copy.h"
#include "pgbase/row.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

/* Columns of qsketch_gpu_copies(). */
enum
{
	COPY_RELATION,
	COPY_ATTRIBUTE,
	COPY_ROWS,
	COPY_BYTES,
	COPY_PAGES,
	COPY_PAGES_TRUE,
	COPY_LAST_USED,
	COPY_PUSHED_OUT,
	COPY_PUSHED_OUT_BY,
	COPY_PUSHED_OUT_AT,
	COPY_COLUMNS
};

/* All ranges of a column together. */
typedef struct Sum
{
	int64 keys;
	int64 bytes;
	int64 pages;
	int64 pages_true; /* by a look at the visibility map alone */
	uint64 used;
	GpuColumnCopy out; /* what was pushed out, if anything was */
} Sum;

/* May this user count the column's keys?  The table may be gone. */
static bool
may_see(Oid relid, AttrNumber attribute)
{
	bool missing = false;
	bool readable =
		pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing) == ACLCHECK_OK ||
		pg_attribute_aclcheck_ext(relid, attribute, GetUserId(), ACL_SELECT, &missing) ==
			ACLCHECK_OK;

	return readable && !missing && check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED;
}

/* Does the copy belong to the table as it is now? */
static bool
is_current(Relation relation, const GpuColumn *column)
{
	Form_pg_attribute form;
	GpuColumn now;

	if (column->attribute > RelationGetNumberOfAttributes(relation))
		return false;
	form = TupleDescAttr(RelationGetDescr(relation), column->attribute - 1);
	if (form->attisdropped)
		return false;
	now = CopyColumn(relation, column->attribute, column->collation);
	return memcmp(&now, column, sizeof(now)) == 0;
}

/* Add what a range has; nothing if it has just been freed. */
static void
add_range(Sum *sum, Relation relation, const GpuColumnCopy *copy, GpuColumnState *state)
{
	MapLook look;

	if (!state->there)
		return;
	sum->keys += state->keys;
	sum->bytes += copy->bytes;
	sum->pages += GpuPagesCount(&state->copied);
	sum->used = Max(sum->used, copy->used);
	if (!CopyLook(relation, copy->range, RelationGetNumberOfBlocks(relation), &look) ||
		look.lsn != state->map_lsn)
		return;
	GpuPagesKeep(&state->copied, &look.visible);
	sum->pages_true += GpuPagesCount(&state->copied);
}

static bool
is_same(const GpuColumnCopy *a, const GpuColumnCopy *b)
{
	return memcmp(&a->column, &b->column, sizeof(a->column)) == 0;
}

/* Add what all ranges of the first copy's column have. */
static void
add_ranges(Sum *sum, Relation relation, const GpuColumnCopy *copy, int count)
{
	GpuColumnState *state = palloc(count * sizeof(*state));
	GpuRef *ref = palloc0(count * sizeof(*ref));
	int i;

	for (i = 0; i < count; i++)
	{
		if (!is_same(&copy[i], copy))
			continue;
		ref[i] = copy[i].ref;
		if (copy[i].pushed_out > 0)
			sum->out = copy[i];
	}
	GpuColumnDescribe(ref, count, state);
	for (i = 0; i < count; i++)
		add_range(sum, relation, &copy[i], &state[i]);
	pfree(ref);
	pfree(state);
}

static void
put_row(ReturnSetInfo *result, const GpuColumn *column, const Sum *sum)
{
	Datum values[COPY_COLUMNS];
	bool nulls[COPY_COLUMNS] = { 0 };

	values[COPY_RELATION] = ObjectIdGetDatum(column->relation);
	values[COPY_ATTRIBUTE] = Int16GetDatum(column->attribute);
	values[COPY_ROWS] = Int64GetDatum(sum->keys);
	values[COPY_BYTES] = Int64GetDatum(sum->bytes);
	values[COPY_PAGES] = Int64GetDatum(sum->pages);
	values[COPY_PAGES_TRUE] = Int64GetDatum(sum->pages_true);
	values[COPY_LAST_USED] = TimestampTzGetDatum((TimestampTz) sum->used);
	nulls[COPY_LAST_USED] = sum->used == 0;
	values[COPY_PUSHED_OUT] = Int32GetDatum((int32) sum->out.pushed_out);
	values[COPY_PUSHED_OUT_BY] = ObjectIdGetDatum(sum->out.pushed_out_by);
	nulls[COPY_PUSHED_OUT_BY] = !OidIsValid(sum->out.pushed_out_by);
	values[COPY_PUSHED_OUT_AT] = TimestampTzGetDatum((TimestampTz) sum->out.pushed_out_at);
	nulls[COPY_PUSHED_OUT_AT] = sum->out.pushed_out == 0;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* The row of a column, from its first copy in the list on.  Who may not see it locks no table. */
static void
put_column(ReturnSetInfo *result, const GpuColumnCopy *copy, int count)
{
	const GpuColumn *column = &copy->column;
	Relation relation = NULL;
	Sum sum = { 0 };

	if (may_see(column->relation, column->attribute))
		relation = try_relation_open(column->relation, AccessShareLock);
	if (relation == NULL)
		return;
	if (is_current(relation, column))
	{
		add_ranges(&sum, relation, copy, count);
		put_row(result, column, &sum);
	}
	relation_close(relation, AccessShareLock);
}

/* qsketch_gpu_copies(): a row for each column that this user may see. */
PG_FUNCTION_INFO_V1(qsketch_gpu_copies);
Datum
qsketch_gpu_copies(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int count;
	GpuColumnCopy *copy = GpuColumnList(&count);
	int i;
	int j;

	ReturnRows(fcinfo);
	for (i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (j = 0; j < i && !is_same(&copy[i], &copy[j]); j++)
			;
		if (j == i && copy[i].column.database == MyDatabaseId)
			put_column(result, &copy[i], count - i);
	}
	return (Datum) 0;
}
