/*
 * sets_state.h
 *		A collection of sets as an expanded object.
 *
 * src/pg/sets_state.h
 */
#ifndef QS_PG_SETS_EXPANDED_H
#define QS_PG_SETS_EXPANDED_H

#include "pg/sets_value.h"
#include "pgbase/state.h"

#include "sets/builder.h"

typedef struct SetsState
{
	KeyedState keyed; /* members: rows given to the builder, duplicates among them */

	bool exact;  /* elements are these integers themselves */
	bool arrays; /* a row of the aggregate brings an array of them */

	uint64 version; /* of the collection: a number that no other in this process has */

	/*
	 * The rows are in the collection, or, as long as some come, in the builder
	 * and the batch.
	 */
	bool building;
	qset_collection collection;
	qset_builder builder;

	/* Rows that wait for the builder. */
	uint32 waiting;
	uint32 room;
	int64 *id;
	uint64 *low;
	uint64 *high;
} SetsState;

/* Read access to a collection, whatever the datum is made of. */
typedef struct SetsReader
{
	const qset_collection *collection;
	qset_collection own; /* what "collection" points to unless it is expanded */
	qb_memory memory;
	bool expanded;
} SetsReader;

extern const KeyedStateType sets_state_type;

extern SetsState *SetsCreate(MemoryContext context);
extern SetsState *SetsNew(void);
extern SetsState *SetsStateIn(Datum datum);
extern void SetsBuild(SetsState *sets, bool wide, const qb_keys *keys);
extern void SetsTakeKeys(SetsState *sets, Oid type, Oid collation);
extern void SetsMakeRoom(SetsState *sets);
extern void SetsAddKey(SetsState *sets, int64 id, Datum element);
extern void SetsFlush(SetsState *sets);
extern void SetsAddCollection(SetsState *sets, const qset_collection *from);
extern void SetsStartAgain(SetsState *sets);
extern void SetsBecome(SetsState *sets, const qset_collection *collection, int64 rows);
extern void SetsSettle(SetsState *sets);
extern uint64 SetsVersion(SetsState *sets);

/* Add a row whose element is a number; rows of such elements may come. */
static inline void
SetsAddNumber(SetsState *sets, int64 id, uint64 number)
{
	if (unlikely(sets->waiting == sets->room))
		SetsMakeRoom(sets);
	sets->id[sets->waiting] = id;
	sets->low[sets->waiting++] = number;
}

/* Likewise one whose element has no number; "high" is its hash with another seed. */
static inline void
SetsAddHash(SetsState *sets, int64 id, uint64 low, uint64 high)
{
	SetsAddNumber(sets, id, low);
	sets->high[sets->waiting - 1] = high;
}

extern void SetsRead(SetsReader *reader, Datum datum);
extern void SetsReadEnd(SetsReader *reader);

#endif
