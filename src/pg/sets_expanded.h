/*
 * sets_expanded.h
 *		A collection of sets as an expanded object.
 *
 * src/pg/sets_expanded.h
 */
#ifndef QS_PG_SETS_EXPANDED_H
#define QS_PG_SETS_EXPANDED_H

#include "pg/sets_value.h"
#include "pg/state.h"

#include "sets/builder.h"

typedef struct ExpandedSets
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
	qi_collection collection;
	qi_builder builder;

	/* Rows that wait for the builder. */
	uint32 waiting;
	uint32 room;
	int64 *id;
	uint64 *low;
	uint64 *high;
} ExpandedSets;

/* Read access to a collection, whatever the datum is made of. */
typedef struct SetsReader
{
	const qi_collection *collection;
	qi_collection own; /* what "collection" points to unless it is expanded */
	qs_memory memory;
	bool expanded;
} SetsReader;

extern const KeyedStateType sets_state_type;

extern ExpandedSets *SetsCreate(MemoryContext context);
extern ExpandedSets *SetsNew(void);
extern ExpandedSets *SetsExpandedIn(Datum datum);
extern void SetsBuild(ExpandedSets *sets, bool wide, const qs_keys *keys);
extern void SetsTakeKeys(ExpandedSets *sets, Oid type, Oid collation);
extern void SetsMakeRoom(ExpandedSets *sets);
extern void SetsAddKey(ExpandedSets *sets, int64 id, Datum element);
extern void SetsFlush(ExpandedSets *sets);
extern void SetsAddCollection(ExpandedSets *sets, const qi_collection *from);
extern void SetsStartAgain(ExpandedSets *sets);
extern void SetsBecome(ExpandedSets *sets, const qi_collection *collection, int64 rows);
extern void SetsSettle(ExpandedSets *sets);
extern uint64 SetsVersion(ExpandedSets *sets);

/* Add a row whose element is a number; rows of such elements may come. */
static inline void
SetsAddNumber(ExpandedSets *sets, int64 id, uint64 number)
{
	if (unlikely(sets->waiting == sets->room))
		SetsMakeRoom(sets);
	sets->id[sets->waiting] = id;
	sets->low[sets->waiting++] = number;
}

/* Likewise one whose element has no number; "high" is its hash with another seed. */
static inline void
SetsAddHash(ExpandedSets *sets, int64 id, uint64 low, uint64 high)
{
	SetsAddNumber(sets, id, low);
	sets->high[sets->waiting - 1] = high;
}

extern void SetsRead(SetsReader *reader, Datum datum);
extern void SetsReadEnd(SetsReader *reader);

#endif
