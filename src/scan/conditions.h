/*
 * conditions.h
 *		Conditions on the rows of a column scan, page by page.
 *
 * Conditions take the tuples of a page and leave those for which they are true.  A
 * condition that compares a column with something that is the same for all rows is
 * tested on the page: numbers have the order of the values (pgbase/keytype.h), so that every
 * comparison is a range of integers.  Any other condition is an expression that the executor
 * evaluates.
 *
 *	conditions.c	what a clause compares
 *	select.c		the tuples of a page that WHERE and FILTERs keep
 *
 * src/scan/conditions.h
 */
#ifndef QS_SCAN_CONDITIONS_H
#define QS_SCAN_CONDITIONS_H

#include "base/selection.h"
#include "scan/scan.h"

#include "access/stratnum.h"

/* What conditions are beside tests of numbers and of NULL (qb_test_kind). */
enum
{
	TEST_STRING = QB_TEST_NULL + 1, /* value is one of the strings, byte by byte */
	TEST_EXPRESSION
};

typedef struct ScanString
{
	const char *bytes;
	Size length;
} ScanString;

typedef struct ScanCondition
{
	qb_test test; /* its range is that of the operand's value; its list is "number" */
	Expr *clause;
	Var *column;
	ColumnLocation location;
	KeyKind kind; /* KEY_HASHED: only a test for NULL */

	/* What the column is compared with; NULL if nothing has to be evaluated. */
	Expr *operand;
	KeyKind operand_kind;
	bool operand_is_array;
	int strategy; /* btree strategy of the comparison */

	/* The operand's value in this run, set by the first row that reaches this condition. */
	bool ready;
	bool all;      /* every row passes, */
	bool none;     /* or no row does, whatever its value is */
	int count;     /* of its numbers or strings */
	int64 *number; /* ascending */
	ScanString *string;

	ExprState *state; /* of the operand; if the clause is an expression, of the whole clause */
} ScanCondition;

/* An AND of conditions, in the order in which they are tested: those of WHERE, or of a FILTER. */
typedef struct ScanConditions
{
	int count;
	ScanCondition *condition;
	const Expr *filter; /* NULL: WHERE */
	PageTuples *tuples; /* that FILTER keeps, of those of the page that WHERE has left */
	Oid table;
	ExprContext *context;
	TupleTableSlot *slot;   /* a tuple of the page, for expressions */
	MemoryContext operands; /* values of operands in this run */
} ScanConditions;

extern void ScanConditionInit(ScanCondition *condition, Expr *clause);
extern Cost ScanConditionsCost(PlannerInfo *root, List *clauses, Cost *startup);
extern void
ScanConditionsInit(ScanConditions *conditions, List *clauses, EState *estate, Relation relation);

/* select.c */
extern int ScanCompareNumbers(const void *a, const void *b);
extern void ScanConditionEvaluate(ScanConditions *conditions, ScanCondition *condition);

typedef struct WantedRows
{
	EState *estate;
	Relation relation;
	int count;
	ScanConditions *of; /* WHERE's, which may be none, then those of each FILTER */
	Bitmapset *params;  /* parameters that a run depends on */
} WantedRows;

extern void WantedRowsInit(WantedRows *rows, EState *estate, Relation relation, List *clauses,
						   int most_filters);
extern void WantedRowsAddParams(WantedRows *rows, List *exprs);
extern int WantedRowsAddFilter(WantedRows *rows, Expr *filter);
extern int WantedRowsOnPage(const WantedRows *rows);
extern void WantedRowsStart(WantedRows *rows);
extern void WantedRowsSelect(WantedRows *rows, PageTuples *tuples);
extern void WantedRowsEnd(WantedRows *rows);

/* match.c */
extern ScanAggregate *ScanAggregatesInit(PlanState *node, WantedRows *rows, int *count);

/* The tuples that WHERE left (0), or those that a filter left. */
static inline PageTuples *
WantedRowsOf(WantedRows *rows, int filter, PageTuples *tuples)
{
	return filter == 0 ? tuples : rows->of[filter].tuples;
}

#endif
