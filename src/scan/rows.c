/*
 * rows.c
 *		WHERE and FILTERs: which tuples of a page each aggregate gets.
 *
 * Conditions on all rows are tested first, then those of FILTERs on what is left.
 * Aggregates with the same FILTER share its tuples.
 *
 * src/scan/rows.c
 */
#include "scan/conditions.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

static bool
collect_params(Node *node, void *params)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		*(Bitmapset **) params = bms_add_member(*(Bitmapset **) params, ((Param *) node)->paramid);
	return expression_tree_walker(node, collect_params, params);
}

static ScanConditions *
init_conditions(WantedRows *rows, List *clauses)
{
	(void) collect_params((Node *) clauses, &rows->params);
	return ScanConditionsInit(clauses, rows->estate, rows->relation);
}

/* The rows of which the clauses are true. */
void
WantedRowsInit(WantedRows *rows, EState *estate, Relation relation, List *clauses, int most_filters)
{
	memset(rows, 0, sizeof(*rows));
	rows->estate = estate;
	rows->relation = relation;
	rows->filtered = palloc0(most_filters * sizeof(FilteredTuples));
	if (clauses)
		rows->conditions = init_conditions(rows, clauses);
}

/* The number of a filter, which may be there already; -1 if it keeps all rows. */
int
WantedRowsAddFilter(WantedRows *rows, Expr *filter)
{
	List *clauses = make_ands_implicit(filter);
	FilteredTuples *filtered;
	int i;

	if (clauses == NIL)
		return -1;
	for (i = 0; i < rows->filters; i++)
		if (equal(rows->filtered[i].filter, filter))
			return i;
	filtered = &rows->filtered[rows->filters];
	filtered->filter = filter;
	filtered->conditions = init_conditions(rows, clauses);
	filtered->tuples = palloc(sizeof(PageTuples));
	return rows->filters++;
}

/* How many conditions are tested on the page. */
int
WantedRowsOnPage(const WantedRows *rows)
{
	int count = rows->conditions ? ScanConditionsOnPage(rows->conditions) : 0;
	int i;

	for (i = 0; i < rows->filters; i++)
		count += ScanConditionsOnPage(rows->filtered[i].conditions);
	return count;
}

/* Before a run. */
void
WantedRowsStart(WantedRows *rows)
{
	int i;

	if (rows->conditions)
		ScanConditionsReset(rows->conditions);
	for (i = 0; i < rows->filters; i++)
		ScanConditionsReset(rows->filtered[i].conditions);
}

/* Find the tuples that filters keep, of those that the query asks for. */
void
WantedRowsFilter(WantedRows *rows, PageTuples *tuples)
{
	int i;

	for (i = 0; i < rows->filters; i++)
	{
		FilteredTuples *filtered = &rows->filtered[i];

		PageTuplesCopy(filtered->tuples, tuples);
		tuples->share = 0;
		ScanConditionsSelect(filtered->conditions, rows->relation, filtered->tuples);
	}
}

/* Leave the tuples of a page that the query asks for, and find those that filters keep. */
void
WantedRowsSelect(WantedRows *rows, PageTuples *tuples)
{
	if (rows->conditions)
		ScanConditionsSelect(rows->conditions, rows->relation, tuples);
	WantedRowsFilter(rows, tuples);
}

/* After a run, before its last page is given up. */
void
WantedRowsEnd(WantedRows *rows)
{
	int i;

	if (rows->conditions)
		ScanConditionsEnd(rows->conditions);
	for (i = 0; i < rows->filters; i++)
		ScanConditionsEnd(rows->filtered[i].conditions);
}
