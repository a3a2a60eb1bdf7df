/*
 * sets_remote.c
 *		A collection of sets whose rows are on a GPU, where cached columns have given them.
 *
 * As long as rows come, those of the batch are sent after the others.  A search for pairs
 * has the worker make the collection where the rows are.  Whoever needs the collection
 * here fetches it.  It is the same, byte for byte: it depends on the rows alone.
 *
 * src/pg/sets_remote.c
 */
#include "pg/sets_state.h"

#include "miscadmin.h"
#include "pgbase/activity.h"
#include "utils/memutils.h"

/* Rows that are fetched at a time, if they could not be sorted. */
#define ROWS_AT_ONCE GPU_SLOT_KEYS

/*
 * Add rows of cached columns, and take the pages off their sets that were done: none if there is
 * no room, or if rows have come before that are not on a GPU.  Elements are exact.
 */
void
SetsAddColumns(SetsState *sets, const GpuColumnChunk *chunk, int chunks)
{
	int64 rows;

	Assert(sets->exact);
	SetsFlush(sets);
	if (sets->remote == NULL && sets->keyed.count > 0)
		return;
	if (sets->remote == NULL)
		sets->remote = GpuMembershipsBegin(sets->keyed.header.eoh_context);
	if (sets->remote == NULL)
		return;
	rows = GpuMembershipsAddColumns(sets->remote, chunk, chunks);
	sets->keyed.count += rows;
	sets->keyed.batches++;
	StatCountBatch(true, rows);
}

static void
end_remote(SetsState *sets)
{
	GpuDropOwned(&sets->remote->owned);
	sets->remote = NULL;
}

/* Send a batch of rows after the others; false: there is no room, and the rows are here now. */
bool
SetsSendRows(SetsState *sets)
{
	if (GpuMembershipsAddRows(sets->remote, sets->id, sets->low, sets->waiting))
		return true;
	SetsFetch(sets);
	return false;
}

/* Fetch rows that the worker could not sort, and give them to the builder. */
static void
fetch_rows(SetsState *sets)
{
	uint64 rows = sets->remote->rows;
	int64 *id = palloc(ROWS_AT_ONCE * sizeof(int64));
	uint64 *element = palloc(ROWS_AT_ONCE * sizeof(uint64));
	uint64 at;
	uint64 some;

	for (at = 0; at < rows; at += some)
	{
		CHECK_FOR_INTERRUPTS();
		some = Min(rows - at, ROWS_AT_ONCE);
		GpuMembershipsRead(sets->remote, MEMBERSHIPS_ROW_IDS, at, some, id);
		GpuMembershipsRead(sets->remote, MEMBERSHIPS_ROW_ELEMENTS, at, some, element);
		SetsCheck(qset_builder_add(&sets->builder, id, element, NULL, some));
	}
	pfree(id);
	pfree(element);
}

/* Fetch the collection that the worker has made. */
static void
fetch_collection(SetsState *sets, const GpuMembershipsSizes *sizes)
{
	GpuMemberships *remote = sets->remote;
	qset_collection made = { .keys = sets->builder.keys,
							 .sets = sizes->sets,
							 .elements = sizes->elements,
							 .universe = sizes->universe };

	SetsCheck(qset_collection_alloc(&made, &sets->keyed.memory));
	GpuMembershipsRead(remote, MEMBERSHIPS_IDS, 0, made.sets, made.id);
	GpuMembershipsRead(remote, MEMBERSHIPS_OFFSETS, 0, made.sets + 1, made.offset);
	GpuMembershipsRead(remote, MEMBERSHIPS_RANKS, 0, made.elements, made.rank);
	GpuMembershipsRead(remote, MEMBERSHIPS_VALUES, 0, made.universe, made.low);
	qset_builder_free(&sets->builder);
	sets->collection = made;
	sets->building = false;
	sets->version = 0;
}

/* Bring all rows here: as the collection, or in the builder. */
void
SetsFetch(SetsState *sets)
{
	GpuMembershipsSizes sizes;

	if (sets->remote->rows == 0)
		;
	else if (GpuMembershipsSort(sets->remote, &sizes))
		fetch_collection(sets, &sizes);
	else
		fetch_rows(sets);
	end_remote(sets);
}

/* Fetch the ids of the sets, and where they begin. */
static void
describe(SetsState *sets, const GpuMembershipsSizes *sizes, GpuKept *made)
{
	made->sets = sizes->sets;
	made->elements = sizes->elements;
	made->offset = MemoryContextAllocHuge(CurrentMemoryContext, (made->sets + 1) * sizeof(uint64));
	made->id = MemoryContextAllocHuge(CurrentMemoryContext, (made->sets + 1) * sizeof(int64));
	GpuMembershipsRead(sets->remote, MEMBERSHIPS_OFFSETS, 0, made->sets + 1, made->offset);
	GpuMembershipsRead(sets->remote, MEMBERSHIPS_IDS, 0, made->sets, made->id);
}

/*
 * The sorted rows of a collection that is on a GPU and nowhere else, and what is to be
 * known of it; NULL: it is not there.
 */
const GpuRef *
SetsOnGpu(Datum datum, GpuKept *made)
{
	SetsState *sets = SetsStateIn(datum);
	GpuMembershipsSizes sizes;

	if (sets == NULL || sets->remote == NULL)
		return NULL;
	SetsFlush(sets);
	if (sets->remote == NULL || sets->remote->rows == 0 ||
		!GpuMembershipsSort(sets->remote, &sizes))
		return NULL;
	describe(sets, &sizes, made);
	return &sets->remote->owned.ref;
}
