/*
 * template.c
 *		Templates that are known when the scan runs.
 *
 * A template is mostly a constant.  It can also be the result of a subquery that does not
 * depend on the rows, or the parameter of a prepared statement: a Param, whose value is the
 * same for all rows of a run.  Each run reads it before it starts the states.  A parallel
 * worker gets it from the leader, as any other parameter.
 *
 * The ordinary plan raises the error of a template with which nothing can be counted when
 * the first key comes, and without keys the result is NULL.  Here such a run counts into
 * states without that template, and the error is raised in place of a result with keys.
 *
 * Parameters of a template are not known to the planner.  It takes the default ones.  It
 * must know the memory of a group, so there is no GROUP BY with such a template (match.c).
 *
 * src/scan/template.c
 */
#include "scan/scan.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"

struct GivenTemplate
{
	Param *param;
	ExprState *state;
	Const *value; /* NULL: not read yet */
};

/* The parameters that are templates of the aggregates, which come first among the targets. */
List *
ScanTemplateParams(List *targets)
{
	List *params = NIL;
	ListCell *cell;

	foreach (cell, targets)
	{
		ColumnScanCall call;

		if (!IsA(lfirst(cell), Aggref))
			break;
		if (ColumnScanMatch(lfirst(cell), &call) && call.parameter)
			params = lappend(params, call.parameter);
	}
	return params;
}

GivenTemplate *
GivenTemplateCreate(Param *param, PlanState *node)
{
	GivenTemplate *given = palloc0(sizeof(GivenTemplate));

	given->param = param;
	given->state = ExecInitExpr(&param->xpr, node);
	return given;
}

/* Free the value of the run before. */
static void
forget(GivenTemplate *given)
{
	if (given->value == NULL)
		return;
	if (!given->value->constisnull)
		pfree(DatumGetPointer(given->value->constvalue));
	pfree(given->value);
	given->value = NULL;
}

/* Read the parameter's value, which is kept in the context of the query. */
static void
read_value(GivenTemplate *given, ExprContext *context)
{
	MemoryContext old;
	Datum value;
	bool null;

	value = ExecEvalExprSwitchContext(given->state, context, &null);
	old = MemoryContextSwitchTo(context->ecxt_per_query_memory);
	if (!null)
		value = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
	given->value = makeConst(given->param->paramtype, given->param->paramtypmod,
							 given->param->paramcollid, -1, value, null, false);
	MemoryContextSwitchTo(old);
}

/* Read the templates that are values of parameters. */
void
GivenTemplatesRead(ScanAggregate *column, int count, ExprContext *context)
{
	int i;

	for (i = 0; i < count; i++)
	{
		ColumnScanCall call = { .family = column[i].family, .limit = (Const *) column[i].limit };

		if (column[i].given == NULL)
			continue;
		forget(column[i].given);
		read_value(column[i].given, context);
		call.template = column[i].given->value;
		column[i].template =
			!call.template->constisnull && call.family->takes_keys(&call) ? call.template : NULL;
	}
}

/* Raise the error of a template, if there are keys and it takes none. */
void
GivenTemplateCheck(const ScanAggregate *column)
{
	const Const *value = column->given->value;

	if (column->template == NULL && column->state->members > 0)
		column->family->check_template(value->constvalue, value->constisnull);
}
