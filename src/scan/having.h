/*
 * having.h
 *		HAVING in a scan that returns final results.
 *
 * src/scan/having.h
 */
#ifndef QS_SCAN_HAVING_H
#define QS_SCAN_HAVING_H

#include "scan/scan.h"

typedef struct ScanHaving
{
	List *clauses;
	ExprState *state; /* NULL: there are none */
	uint64 refused;   /* results for which they were not true */
} ScanHaving;

extern void ScanHavingInit(ScanHaving *having, CustomScanState *node);
extern bool ScanHavingPasses(ScanHaving *having, ExprContext *context, TupleTableSlot *slot);
extern void ScanHavingExplain(const ScanHaving *having, const CustomScan *scan, bool counted,
							  List *ancestors, struct ExplainState *es);

#endif
