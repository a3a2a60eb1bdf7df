/*
 * having.c
 *		HAVING: which of its results a scan returns.
 *
 * The conditions are the first item of the plan's custom_exprs, which refer to its target list.
 *
 * src/scan/having.c
 */
#include "scan/having.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

void
ScanHavingInit(ScanHaving *having, CustomScanState *node)
{
	having->clauses = ScanHavingClauses((CustomScan *) node->ss.ps.plan);
	having->state = ExecInitQual(having->clauses, &node->ss.ps);
}

/*
 * Is HAVING true for the tuple?  If not, the slot is cleared.  What the test allocates
 * lives until the node is asked for its next tuple, or until the next test.
 */
bool
ScanHavingPasses(ScanHaving *having, ExprContext *context, TupleTableSlot *slot)
{
	if (having->state == NULL)
		return true;
	context->ecxt_scantuple = slot;
	if (ExecQual(having->state, context))
		return true;
	having->refused++;
	ExecClearTuple(slot);
	ResetExprContext(context);
	CHECK_FOR_INTERRUPTS();
	return false;
}

/* Show the conditions, and if it is known for how many results they were not true. */
void
ScanHavingExplain(const ScanHaving *having, const CustomScan *scan, bool counted, List *ancestors,
				  ExplainState *es)
{
	if (having->state == NULL)
		return;
	ScanExplainExprs("Having", list_make1(make_ands_explicit(having->clauses)), scan, ancestors,
					 es);
	if (counted)
		ExplainPropertyInteger("Groups Removed by Having", NULL, (int64) having->refused, es);
}
