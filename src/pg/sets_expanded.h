/*
 * sets_expanded.h
 *		A collection of sets as an expanded object.
 *
 * src/pg/sets_expanded.h
 */
#ifndef QS_PG_SETS_EXPANDED_H
#define QS_PG_SETS_EXPANDED_H

#include "pg/memory.h"
#include "pg/sets_value.h"

#include "sets/builder.h"
#include "utils/expandeddatum.h"

typedef struct ExpandedSets
{
	ExpandedObjectHeader header; /* whose methods tell that this is ours */
	qs_memory memory;            /* allocates in the object's context */

	KeyType key; /* of the elements that are added; type 0 = not known yet */
	bool exact;  /* elements are these integers themselves */

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

extern ExpandedSets *SetsCreate(MemoryContext context);
extern ExpandedSets *SetsNew(void);
extern MemoryContext SetsStatesContext(MemoryContext aggregate);
extern ExpandedSets *SetsExpandedIn(Datum datum);
extern void SetsBuild(ExpandedSets *sets, bool wide, const qs_keys *keys);
extern void SetsAddKey(ExpandedSets *sets, int64 id, Datum element);
extern void SetsAddCollection(ExpandedSets *sets, const qi_collection *from);
extern void SetsSettle(ExpandedSets *sets);
extern uint64 SetsVersion(ExpandedSets *sets);

extern void SetsRead(SetsReader *reader, Datum datum);
extern void SetsReadEnd(SetsReader *reader);

#endif
