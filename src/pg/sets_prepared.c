/*
 * sets_prepared.c
 *		Collections of sets prepared for questions about single sets, and kept from
 *		query to query.
 *
 * Reading a collection takes a thousand times as long as a question.  So a process keeps
 * the postings of collections that are stored out of line, up to qsketch.sets_cache in
 * all (stored.h).  A collection is prepared at its second use: a single question to it
 * costs less without.
 *
 * A collection is recognized by its toast pointer.  The process outlives transactions,
 * so the pointer alone might one day name another value; the header, with its sizes and
 * its checksum, must be the same, too.
 *
 * src/pg/sets_prepared.c
 */
#include "pg/sets_prepared.h"

#include <limits.h>

#include "pgbase/stored.h"
#include "sets/format.h"
#include "utils/guc.h"
#include "utils/memutils.h"

typedef struct KeptSets
{
	StoredValue stored;
	uint8 header[QSET_HEADER_BYTES];
	PreparedSets *prepared; /* NULL: not kept */
} KeptSets;

static int limit_kb = 65536;

/* Made at the first use. */
static StoredCache cache;

void
SetsKeptInit(void)
{
	DefineCustomIntVariable(
		"qsketch.sets_cache",
		"Sets the memory in which a process keeps collections of sets prepared for qsets_similar.",
		"It applies from the next call of qsets_similar on; 0 keeps none.", &limit_kb, limit_kb, 0,
		MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
}

/* Read and prepare a collection, in a new child of the current memory context. */
PreparedSets *
SetsPrepare(Datum collection)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "qsketch prepared sets", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	PreparedSets *prepared = palloc0(sizeof(PreparedSets));
	qset_collection copy;
	SetsReader reader;

	prepared->context = context;
	ContextMemory(context, &prepared->memory);
	SetsRead(&reader, collection);
	if (reader.expanded)
		SetsCheck(qset_collection_copy(&copy, reader.collection, &prepared->memory));
	else
	{
		copy = reader.own;
		copy.memory = &prepared->memory;
	}
	SetsCheck(qset_postings_make(&prepared->postings, &copy, &sets_interrupt));
	MemoryContextSwitchTo(old);
	return prepared;
}

/* Read the header of a stored collection, which is not checked; false: it has none. */
static bool
read_header(Datum collection, uint8 *header)
{
	uint32 bytes = QSET_HEADER_BYTES;

	return StoredRead(collection, 0, &bytes, header);
}

/* Prepare a collection to be kept, if there is room. */
static void
keep(KeptSets *kept, Datum collection)
{
	qset_collection sizes;
	Size bytes;

	if (!read_header(collection, kept->header))
		return;
	qset_read_sizes(kept->header, &sizes);
	bytes = (Size) qset_postings_memory(sizes.sets, sizes.elements, sizes.universe, sizes.wide);
	if (bytes > cache.limit || !StoredMayKeep(&cache, &kept->stored, bytes))
		return;
	kept->prepared = SetsPrepare(collection);
	MemoryContextSetParent(kept->prepared->context, kept->stored.context);
	StoredKept(&cache, &kept->stored);
}

/*
 * The prepared collection, which stays until the next call; NULL if it is not kept: it
 * is not stored out of line, was never used before, or is too large.
 */
PreparedSets *
SetsKept(Datum collection)
{
	Size limit = (Size) limit_kb * 1024;
	uint8 header[QSET_HEADER_BYTES];
	KeptSets *kept;

	if (cache.context == NULL)
		StoredInit(&cache, CacheMemoryContext, sizeof(KeptSets), 0);
	if (cache.limit != limit)
		StoredSetLimit(&cache, limit);
	kept = (KeptSets *) StoredFind(&cache, collection);
	if (kept == NULL)
		return NULL;
	if (kept->prepared &&
		(!read_header(collection, header) || memcmp(header, kept->header, sizeof(header)) != 0))
		StoredDrop(&cache, &kept->stored);
	if (kept->prepared == NULL && StoredAgain(&kept->stored))
		keep(kept, collection);
	return kept->prepared;
}
