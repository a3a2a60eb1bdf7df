/*
 * pairs.h
 *		QSketchPairs: qsets_pairs and qsets_nearest in FROM, row by row.
 *
 * src/scan/pairs.h
 */
#ifndef QS_SCAN_PAIRS_H
#define QS_SCAN_PAIRS_H

#include "postgres.h"

#include "nodes/extensible.h"

/* pairs_plan.c */
extern void PairsNodeInit(void);

/* pairs_exec.c */
extern const CustomScanMethods pairs_node_methods;

#endif
