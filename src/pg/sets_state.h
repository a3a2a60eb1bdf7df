/*
 * sets_state.h
 *		A collection of sets as an expanded object, and errors of functions on sets.
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

/* Defines the setting qsketch.sets_cache (sets_similar.c). */
extern void SetsKeptInit(void);

extern void SetsCheck(qb_status status);
extern void SetsTooManyPairs(uint64 kept) __attribute__((noreturn));
extern void SetsCheckKeys(const qset_collection *c, int sqlstate);
extern void SetsCheckSame(const qb_keys *a, bool a_wide, const qb_keys *b, bool b_wide);
extern void *SetsAlloc(const qb_memory *memory, uint64 count, Size size);

typedef struct SetsState
{
	KeyedState keyed; /* "count" is the number of flushed rows, with duplicates */

	bool exact;  /* elements are numbers, not fingerprints of 128 bits */
	bool arrays; /* each row of the aggregate has an array of elements */

	uint64 version; /* identifies the contents of the collection in this process; 0: not set yet */

	bool building; /* true: rows are in the builder, not in the collection */
	qset_collection collection;
	qset_builder builder;

	GpuMemberships *remote; /* rows on a GPU, while the builder is empty; NULL: no GPU has rows */

	/* The batch: rows that are not in the builder or on a GPU yet. */
	uint32 waiting; /* number of rows in the batch */
	uint32 room;    /* number of rows for which the arrays below are allocated */
	int64 *id;      /* ids of the sets */
	uint64 *low;    /* elements: numbers, or lower halves of fingerprints */
	uint64 *high;   /* upper halves of fingerprints, unless "exact" */
} SetsState;

/* Read access to a flat, stored or expanded collection. */
typedef struct SetsReader
{
	const qset_collection *collection;
	qset_collection view; /* the collection of a flat or stored value */
	qb_memory memory;     /* allocates the arrays of "view" */
	bool expanded;        /* the datum is an expanded object */
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

extern void SetsAddColumns(SetsState *sets, const GpuColumnChunk *chunk, int chunks);
extern const GpuRef *SetsOnGpu(Datum datum, GpuKept *kept);

/* Add a row whose element is a number, after SetsBuild(). */
static inline void
SetsAddNumber(SetsState *sets, int64 id, uint64 number)
{
	if (unlikely(sets->waiting == sets->room))
		SetsMakeRoom(sets);
	sets->id[sets->waiting] = id;
	sets->low[sets->waiting++] = number;
}

/* Add a row whose element is a fingerprint of 128 bits, with halves "low" and "high". */
static inline void
SetsAddHash(SetsState *sets, int64 id, uint64 low, uint64 high)
{
	SetsAddNumber(sets, id, low);
	sets->high[sets->waiting - 1] = high;
}

extern void SetsRead(SetsReader *reader, Datum datum);
extern void SetsReadEnd(SetsReader *reader);

/* In the ArgumentLayout of qsets_agg, "weight" is the position of the set's id. */
extern const AggregateFunctions sets_functions;

#endif
