/*
 * sets_prepared.h
 *		Collections of sets prepared for questions about single sets.
 *
 * src/pg/sets_prepared.h
 */
#ifndef QS_PG_SETS_PREPARED_H
#define QS_PG_SETS_PREPARED_H

#include "pg/sets_state.h"
#include "sets/postings.h"

/* A prepared collection, in a memory context of its own. */
typedef struct PreparedSets
{
	MemoryContext context;
	qb_memory memory;
	qset_postings postings;
} PreparedSets;

extern PreparedSets *SetsPrepare(Datum collection);
extern PreparedSets *SetsKept(Datum collection);
extern void SetsKeptInit(void);

#endif
