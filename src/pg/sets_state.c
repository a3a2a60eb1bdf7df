/*
 * sets_state.c
 *		A collection of sets as an expanded object; errors.
 *
 * Functions return the expanded object, and aggregates have it as their state.  An expanded
 * collection may be larger than 1 GB; only its flat bytes are limited.  The executor keeps the
 * state without a copy, because the state's memory context is a child of the aggregate's context.
 *
 * Rows are collected in a batch.  A full batch is added to a builder.  The collection is
 * materialized before it is read: the builder makes the collection of its rows, and is freed.
 * Materializing does not change the value.  If rows are added later, the sets of the collection are
 * added to a new builder.
 *
 * src/pg/sets_state.c
 */
#include "pg/sets_state.h"

#include "miscadmin.h"
#include "pgbase/activity.h"
#include "pgbase/keycheck.h"
#include "sets/collection.h"
#include "utils/memutils.h"

#define FIRST_ROOM 8

static bool send_rows(SetsState *sets);
static void fetch(SetsState *sets);

const ValueFormat sets_format = { "collection of sets", QSET_FORMAT_VERSION, QSET_HEADER_BYTES };
const KeyHolder sets_key_holder = { "collection of sets", "collections of sets", "qsets_agg" };

/* Raise an error unless the status is QB_OK. */
void
SetsCheck(qb_status status)
{
	if (likely(status == QB_OK))
		return;
	if (status == QB_TOO_MANY)
		ereport(
			ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("too many sets or elements for one collection"),
			 errdetail("A collection has at most %llu sets, %llu distinct elements and %llu in "
					   "all.",
					   (unsigned long long) QSET_MAX_SETS, (unsigned long long) QSET_MAX_UNIVERSE,
					   (unsigned long long) QSET_MAX_ELEMENTS),
			 errhint("Split it by ranges of set ids, and find the pairs between the parts.")));
	StatusRaise(status, sets_format.noun, NULL);
}

/* Raise the error that more than "kept" pairs would have to be in memory. */
void
SetsTooManyPairs(uint64 kept)
{
	ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					errmsg("more than %llu pairs of sets would have to be kept in memory",
						   (unsigned long long) kept),
					errhint("Set top lower, or min_count or min_jaccard higher.")));
	pg_unreachable();
}

/* Raise an error of this SQLSTATE if the collection's facts about its keys are inconsistent. */
void
SetsCheckKeys(const qset_collection *c, int sqlstate)
{
	KeysCheck(&c->keys, &sets_format, sqlstate);
	KeysCheckNumbers(&c->keys, !c->wide,
					 c->wide ? "fingerprints of 128 bits" : "elements of 64 bits", &sets_format,
					 sqlstate);
}

/* Raise an error unless two collections have comparable keys, and elements of the same width. */
void
SetsCheckSame(const qb_keys *a, bool a_wide, const qb_keys *b, bool b_wide)
{
	KeyFamilyCheckSame(a, b, &sets_key_holder);
	if (a_wide != b_wide)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("collections of sets differ: elements of 64 bits and fingerprints "
							   "of 128 bits")));
}

/* Allocate "count" items of "size" bytes, or raise an error. */
void *
SetsAlloc(const qb_memory *memory, uint64 count, Size size)
{
	void *array = qset_alloc(memory, count, size);

	if (array == NULL)
		SetsCheck(QB_NO_MEMORY);
	return array;
}

/* ---- the state ---- */

/* Create an empty collection in a context. */
SetsState *
SetsCreate(MemoryContext context)
{
	SetsState *sets = StateCreate(&sets_state_type, context);

	SetsCheck(qset_collection_alloc(&sets->collection, &sets->keyed.memory));
	return sets;
}

/* Create an empty collection in a new context, to be returned by a function. */
SetsState *
SetsNew(void)
{
	return SetsCreate(StateContext(&sets_state_type, NULL));
}

/* Return the expanded collection that a datum points to; NULL: the datum is flat. */
SetsState *
SetsStateIn(Datum datum)
{
	return StateExpandedIn(datum, &sets_state_type);
}

/* Set the type of the elements in the following rows. */
void
SetsTakeKeys(SetsState *sets, Oid type, Oid collation)
{
	KeyTypeInit(&sets->keyed.key, type, collation);
	sets->exact = KeyIsNumber(&sets->keyed.key);
}

/*
 * Prepare the builder for rows with elements of these keys and this width.  Raises an error if
 * these elements cannot be compared with the elements of the collection.
 */
void
SetsBuild(SetsState *sets, bool wide, const qb_keys *keys)
{
	qset_collection *old = &sets->collection;
	qset_builder *builder = &sets->builder;

	if (sets->building)
		SetsCheckSame(&builder->keys, builder->elements.wide, keys, wide);
	else if (old->sets > 0)
		SetsCheckSame(&old->keys, old->wide, keys, wide);
	else
		KeyFamilyCheckSame(&old->keys, keys, &sets_key_holder);
	if (sets->building)
	{
		qb_keys_take(&builder->keys, keys);
		return;
	}
	qset_builder_init(builder, wide, keys, &sets->keyed.memory);
	qb_keys_take(&builder->keys, &old->keys);
	if (old->sets > 0)
		SetsCheck(qset_builder_add_collection(builder, old));
	qset_collection_free(old);
	sets->version = 0;
	sets->building = true;
}

/* Prepare the builder for more rows with elements of the collection's key family and width. */
static void
go_on(SetsState *sets)
{
	if (sets->remote)
		fetch(sets);
	if (!sets->building)
		SetsBuild(sets, sets->collection.wide, &sets->collection.keys);
}

/* Send the batch to the GPU that has the earlier rows, or add the batch to the builder. */
static void
give_batch(SetsState *sets)
{
	if (sets->remote && send_rows(sets))
		return;
	go_on(sets);
	StateTakeText(&sets->keyed, &sets->builder.keys, &sets_key_holder);
	SetsCheck(qset_builder_add(&sets->builder, sets->id, sets->low, sets->exact ? NULL : sets->high,
							   sets->waiting));
}

/* Add the batch's rows to the GPU or the builder, and empty the batch. */
static void
flush_rows(KeyedState *state)
{
	SetsState *sets = (SetsState *) state;
	uint32 rows = sets->waiting;
	bool remote = sets->remote != NULL;

	if (rows == 0)
		return;
	StateBeginCounting(&sets->keyed);
	give_batch(sets);
	sets->waiting = 0;
	StateEndCounting(&sets->keyed);
	sets->keyed.count += rows;
	sets->keyed.batches++;
	StatCountBatch(remote, rows);
}

static void *
grown(SetsState *sets, void *array, uint32 room)
{
	Size bytes = room * sizeof(uint64);

	return array ? repalloc(array, bytes)
				 : MemoryContextAlloc(sets->keyed.header.eoh_context, bytes);
}

/*
 * Enlarge a full batch, or flush a full batch of maximum size.  A batch begins small, since many
 * groups are small.  If a GPU has the rows, a batch of maximum size fills a slot (gpu/shared.h).
 */
void
SetsMakeRoom(SetsState *sets)
{
	uint32 room = sets->room ? sets->room * 2 : FIRST_ROOM;

	if (sets->room >= (sets->remote ? GPU_SLOT_WEIGHED : QSET_BATCH))
	{
		flush_rows(&sets->keyed);
		return;
	}
	sets->id = grown(sets, sets->id, room);
	sets->low = grown(sets, sets->low, room);
	if (!sets->exact)
		sets->high = grown(sets, sets->high, room);
	sets->room = room;
}

/* Add a row, after SetsTakeKeys() and SetsBuild(). */
void
SetsAddKey(SetsState *sets, int64 id, Datum element)
{
	KeyType *key = &sets->keyed.key;
	uint64 low;
	uint64 high;

	if (sets->exact)
	{
		SetsAddNumber(sets, id, (uint64) KeyNumber(key->kind, element));
		return;
	}
	KeyHashWide(key, element, &low, &high);
	SetsAddHash(sets, id, low, high);
}

/* Add all rows of a collection.  If the state has no rows, it gets a copy of the collection. */
void
SetsAddCollection(SetsState *sets, const qset_collection *from)
{
	if (from->sets == 0)
		return;
	if (sets->remote)
		fetch(sets);
	if (!sets->building && sets->collection.sets == 0)
	{
		qset_collection_free(&sets->collection);
		SetsCheck(qset_collection_copy(&sets->collection, from, &sets->keyed.memory));
		return;
	}
	SetsBuild(sets, from->wide, &from->keys);
	SetsCheck(qset_builder_add_collection(&sets->builder, from));
}

/* Drop all rows of the builder.  The type of its elements stays. */
void
SetsStartAgain(SetsState *sets)
{
	bool wide = sets->builder.elements.wide;
	qb_keys keys = sets->builder.keys;

	Assert(sets->building && sets->waiting == 0);
	qset_builder_free(&sets->builder);
	qset_builder_init(&sets->builder, wide, &keys, &sets->keyed.memory);
	sets->keyed.count = 0;
}

/*
 * Set the collection of a state without rows.  The state takes over the arrays of the collection,
 * which must be in the state's memory.  "rows" is the number of rows from which the collection was
 * made.
 */
void
SetsBecome(SetsState *sets, const qset_collection *collection, int64 rows)
{
	Assert(sets->building && sets->keyed.count == 0);
	qset_builder_free(&sets->builder);
	sets->collection = *collection;
	sets->building = false;
	sets->version = 0;
	sets->keyed.count = rows;
}

/* Flush the batch, and make the collection of all rows. */
void
SetsMaterialize(SetsState *sets)
{
	if (!sets->building)
		return;
	flush_rows(&sets->keyed);
	if (sets->remote)
		fetch(sets);
	if (!sets->building)
		return;
	SetsCheck(qset_builder_finish(&sets->builder, &sets->collection));
	qset_builder_free(&sets->builder);
	sets->building = false;
}

/* Return a number that identifies the collection's contents in this process. */
uint64
SetsVersion(SetsState *sets)
{
	static uint64 versions = 0;

	SetsMaterialize(sets);
	if (sets->version == 0)
		sets->version = ++versions;
	return sets->version;
}

/* Open a collection for reading until SetsReadEnd(), or until the datum is freed. */
void
SetsRead(SetsReader *reader, Datum datum)
{
	SetsState *sets = SetsStateIn(datum);
	struct varlena *value;
	struct varlena *detoasted;
	const uint8 *bytes;
	Size length;
	qb_status status;

	reader->expanded = sets != NULL;
	if (sets)
	{
		SetsMaterialize(sets);
		reader->collection = &sets->collection;
		return;
	}
	value = ValueDetoast(datum, &detoasted);
	bytes = (const uint8 *) VARDATA(value);
	length = VARSIZE(value) - VARHDRSZ;
	status = qset_read(&reader->view, bytes, length,
					   ContextMemory(CurrentMemoryContext, &reader->memory));
	if (status != QB_OK)
		FormatRaise(&sets_format, status, ERRCODE_DATA_CORRUPTED, bytes, length);
	SetsCheckKeys(&reader->view, ERRCODE_DATA_CORRUPTED);
	if (detoasted)
		pfree(detoasted);
	reader->collection = &reader->view;
}

/* Free the memory that SetsRead() has allocated. */
void
SetsReadEnd(SetsReader *reader)
{
	if (!reader->expanded)
		qset_collection_free(&reader->view);
}

static Size
flat_bytes(KeyedState *state)
{
	SetsState *sets = (SetsState *) state;
	uint64 size;

	SetsMaterialize(sets);
	size = VARHDRSZ + qset_flat_size(&sets->collection);
	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("collection of sets would need %llu bytes, more than the limit of %llu",
						(unsigned long long) size, (unsigned long long) MaxAllocSize),
				 errhint("It can be used within a query, but not stored.  Workers of a parallel "
						 "plan pass it on as if it was stored; set "
						 "max_parallel_workers_per_gather to 0 for such a query.")));
	return (Size) size;
}

static void
write_flat(KeyedState *state, void *result, Size bytes)
{
	SetsState *sets = (SetsState *) state;

	SET_VARSIZE(result, bytes);
	qset_write(&sets->collection, (uint8 *) VARDATA(result));
}

/*
 * Return the number of bytes of a state that is passed to another process.  The other process may
 * add rows, so an image of the builder is passed, with unsorted rows.  The image may exceed 1 GB.
 */
static Size
pass_bytes(KeyedState *state)
{
	SetsState *sets = (SetsState *) state;

	go_on(sets);
	flush_rows(&sets->keyed);
	return (Size) qset_builder_image_bytes(&sets->builder);
}

static void
pass(KeyedState *state, void *result, Size bytes)
{
	qset_builder_write(&((SetsState *) state)->builder, result);
}

static void
merge(KeyedState *state, void *passed)
{
	SetsState *sets = (SetsState *) state;
	const qb_keys *keys;
	bool wide;

	if (qset_builder_image_rows(passed) == 0)
		return;
	if (sets->remote)
		fetch(sets);
	keys = qset_builder_image_keys(passed, &wide);
	SetsBuild(sets, wide, keys);
	SetsCheck(qset_builder_add_image(&sets->builder, passed));
}

static void
release(KeyedState *state)
{
	SetsState *sets = (SetsState *) state;

	if (sets->remote)
		GpuDropScopedHandle(&sets->remote->handle);
	sets->remote = NULL;
	if (sets->building)
		qset_builder_free(&sets->builder);
	else
		qset_collection_free(&sets->collection);
	FreeArray((void **) &sets->id);
	FreeArray((void **) &sets->low);
	FreeArray((void **) &sets->high);
	sets->waiting = sets->room = 0;
}

const KeyedStateType sets_state_type = {
	.methods = STATE_METHODS,
	.size = sizeof(SetsState),
	.value = "a collection of sets",
	.context_name = "qsets",
	.states_context = "qsets states",
	.flush = flush_rows,
	.merge = merge,
	.release = release,
	.pass_bytes = pass_bytes,
	.pass = pass,
	.flat_bytes = flat_bytes,
	.write_flat = write_flat,
};

/*
 * ---- rows on a GPU ----
 *
 * The first rows come from columns that are cached on the GPU.  Later batches of rows are sent to
 * the same GPU.  When a query searches for pairs, the GPU worker makes the collection on this GPU.
 * If this process needs the collection, the process fetches it.  The collection's bytes depend only
 * on its rows, not on the device.
 */

/* The number of unsorted rows that are fetched in one request. */
#define ROWS_AT_ONCE GPU_SLOT_KEYS

/*
 * Add rows of cached columns, whose elements must be numbers.  Pages whose rows were added are
 * removed from the chunks' sets of pages.  No page is removed if the GPU cannot store the rows, or
 * if the state has rows that are not on a GPU.
 */
void
SetsAddColumns(SetsState *sets, const GpuColumnChunk *chunk, int chunks)
{
	int64 rows;

	Assert(sets->exact);
	flush_rows(&sets->keyed);
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

/*
 * Send the batch to the GPU that has the earlier rows.  False: the GPU has no free memory, or too
 * many rows.  Then the earlier rows have been fetched into this process, and the batch is
 * unchanged.
 */
static bool
send_rows(SetsState *sets)
{
	if (GpuMembershipsAddRows(sets->remote, sets->id, sets->low, sets->waiting))
		return true;
	fetch(sets);
	return false;
}

/* Fetch the rows that the worker could not sort, and add them to the builder. */
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
	qset_collection fetched = { .keys = sets->builder.keys,
								.sets = sizes->sets,
								.elements = sizes->elements,
								.universe = sizes->universe };

	SetsCheck(qset_collection_alloc(&fetched, &sets->keyed.memory));
	GpuMembershipsRead(remote, MEMBERSHIPS_IDS, 0, fetched.sets, fetched.id);
	GpuMembershipsRead(remote, MEMBERSHIPS_OFFSETS, 0, fetched.sets + 1, fetched.offset);
	GpuMembershipsRead(remote, MEMBERSHIPS_RANKS, 0, fetched.elements, fetched.rank);
	GpuMembershipsRead(remote, MEMBERSHIPS_VALUES, 0, fetched.universe, fetched.low);
	qset_builder_free(&sets->builder);
	sets->collection = fetched;
	sets->building = false;
	sets->version = 0;
}

/* Fetch all rows from the GPU: as the collection, or as rows of the builder. */
static void
fetch(SetsState *sets)
{
	GpuMembershipsSizes sizes;

	if (sets->remote->rows == 0)
		;
	else if (GpuMembershipsSort(sets->remote, &sizes))
		fetch_collection(sets, &sizes);
	else
		fetch_rows(sets);
	GpuDropScopedHandle(&sets->remote->handle);
	sets->remote = NULL;
}

/* Fetch the ids of the sets, and the offset of each set's first element. */
static void
describe(SetsState *sets, const GpuMembershipsSizes *sizes, GpuKept *kept)
{
	kept->sets = sizes->sets;
	kept->elements = sizes->elements;
	kept->offset = MemoryContextAllocHuge(CurrentMemoryContext, (kept->sets + 1) * sizeof(uint64));
	kept->id = MemoryContextAllocHuge(CurrentMemoryContext, (kept->sets + 1) * sizeof(int64));
	GpuMembershipsRead(sets->remote, MEMBERSHIPS_OFFSETS, 0, kept->sets + 1, kept->offset);
	GpuMembershipsRead(sets->remote, MEMBERSHIPS_IDS, 0, kept->sets, kept->id);
}

/*
 * Sort the rows of a collection that is only on a GPU, and return a reference to the rows.  "kept"
 * receives the sizes of the collection, and the offsets and ids of its sets.  NULL: the caller must
 * read the collection.
 */
const GpuRef *
SetsOnGpu(Datum datum, GpuKept *kept)
{
	SetsState *sets = SetsStateIn(datum);
	GpuMembershipsSizes sizes;

	if (sets == NULL || sets->remote == NULL)
		return NULL;
	flush_rows(&sets->keyed);
	if (sets->remote == NULL || sets->remote->rows == 0 ||
		!GpuMembershipsSort(sets->remote, &sizes))
		return NULL;
	describe(sets, &sizes, kept);
	return &sets->remote->handle.ref;
}
