/*
 * sets_state.h
 *		A collection of sets as an expanded object; what functions on sets share: interrupts
 *		and errors.
 *
 * src/pg/sets_state.h
 */
#ifndef QS_PG_SETS_STATE_H
#define QS_PG_SETS_STATE_H

#include "gpu/sets_gpu.h"
#include "pgbase/keyfamily.h"
#include "pgbase/state.h"
#include "pgbase/value.h"
#include "sets/builder.h"
#include "sets/sets.h"
#include "pgbase/aggregate.h"

extern const ValueFormat sets_format;
extern const KeyHolder sets_key_holder;

/* Defines the setting that limits kept collections (sets_similar.c). */
extern void SetsKeptInit(void);

extern void SetsCheck(qb_status status);
extern void SetsTooManyPairs(uint64 kept) __attribute__((noreturn));
extern void SetsCheckKeys(const qset_collection *c, int sqlstate);
extern void SetsCheckSame(const qb_keys *a, bool a_wide, const qb_keys *b, bool b_wide);
extern void *SetsAlloc(const qb_memory *memory, uint64 count, Size size);

typedef struct SetsState
{
	KeyedState keyed; /* its "count": rows given to the builder, with duplicates */

	bool exact;  /* elements are the integers themselves */
	bool arrays; /* a row of the aggregate has an array of elements */

	uint64 version; /* identifies the contents of the collection in this process */

	/*
	 * True: rows are in the builder and the batch, since more may come.  False: all
	 * rows are in the collection.
	 */
	bool building;
	qset_collection collection;
	qset_builder builder;

	/* Rows on a GPU.  The builder then has no rows.  NULL: no rows are on a GPU. */
	GpuMemberships *remote;

	/* The batch: rows that wait for the builder. */
	uint32 waiting;
	uint32 room;
	int64 *id;
	uint64 *low;
	uint64 *high;
} SetsState;

/* Read access to a collection, which the datum may hold in any form. */
typedef struct SetsReader
{
	const qset_collection *collection;
	qset_collection view; /* the collection, unless it is expanded */
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
extern void SetsAddCollection(SetsState *sets, const qset_collection *from);
extern void SetsStartAgain(SetsState *sets);
extern void SetsBecome(SetsState *sets, const qset_collection *collection, int64 rows);
extern void SetsMaterialize(SetsState *sets);
extern uint64 SetsVersion(SetsState *sets);

/* Rows that are on a GPU. */
extern void SetsAddColumns(SetsState *sets, const GpuColumnChunk *chunk, int chunks);
extern const GpuRef *SetsOnGpu(Datum datum, GpuKept *kept);

/* Add a row whose element is a number.  SetsBuild() has prepared for it. */
static inline void
SetsAddNumber(SetsState *sets, int64 id, uint64 number)
{
	if (unlikely(sets->waiting == sets->room))
		SetsMakeRoom(sets);
	sets->id[sets->waiting] = id;
	sets->low[sets->waiting++] = number;
}

/* Add a row whose element is a hash.  "high" is its hash with another seed. */
static inline void
SetsAddHash(SetsState *sets, int64 id, uint64 low, uint64 high)
{
	SetsAddNumber(sets, id, low);
	sets->high[sets->waiting - 1] = high;
}

extern void SetsRead(SetsReader *reader, Datum datum);
extern void SetsReadEnd(SetsReader *reader);

/* sets_functions.c.  The "weight" argument of an ArgumentLayout is the set's id here. */
extern const AggregateFunctions sets_functions;

#endif
