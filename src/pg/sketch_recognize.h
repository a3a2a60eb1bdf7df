/*
 * sketch_recognize.h
 *		Which aggregates of the catalog are ours.
 *
 * src/pg/sketch_recognize.h
 */
#ifndef QS_PG_SKETCH_RECOGNIZE_H
#define QS_PG_SKETCH_RECOGNIZE_H

#include "postgres.h"
#include "fmgr.h"

#include "nodes/execnodes.h"

/* Which arguments of the transition function are what; 0 = it has none. */
typedef struct AggregateForm
{
	int weight;
	int template;
} AggregateForm;

/* An aggregate that does what qsketch_agg does. */
typedef struct RecognizedAggregate
{
	AggregateForm form;
	Oid transition;
	Oid final;
	Oid owner;    /* who must be allowed to call these two */
	Oid key_type; /* as the transition function declares it */
} RecognizedAggregate;

extern bool RecognizeAggregate(Oid aggregate, RecognizedAggregate *recognized);
extern bool CombinesSketches(const AggState *node);
extern Oid MovesElsewhere(const WindowAggState *node, Oid function);

/* sketch_aggregate.c */
extern const AggregateForm *SketchTransitionForm(PGFunction transition);
extern bool IsSketchInverse(PGFunction function);

/* sketch_merge_aggregate.c */
extern bool IsSketchCombine(PGFunction combine);
extern bool IsSketchFinal(PGFunction final);
extern bool IsSketchMover(PGFunction function);

#endif
