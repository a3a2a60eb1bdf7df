/*
 * sets_client.c
 *		A backend's side of the GPU worker: collections on a device, and searches for pairs.
 *
 * A backend posts a collection in pieces.  If the worker could not store a piece, a later request
 * for the collection fails.  The backend sends numbers that represent the elements, instead of the
 * elements.  Two collections use the same numbering, so equal elements have equal numbers.
 *
 * The worker may cache a stored collection, under a different name on each device (name_on()).  The
 * worker then also stores the ids and offsets of the sets, so that a backend that finds the
 * collection need not read it.  The worker may drop the collection at any time.
 *
 * A long search runs on all devices, and each device has the whole collection.  The rows are cut
 * into shards of about equal work.  Device i of n searches shards i, i + n, ...  Pairs are returned
 * shard by shard, in the order of the rows, while all devices search the next shards.
 *
 * A reply has the pairs that fit into a slot, or no pairs if none were found yet.  Between two
 * replies, the worker serves other processes.
 *
 * GpuPairsOpen() waits for the first reply with pairs.  If the worker fails before this reply, the
 * CPU can search instead, unless qsketch.device is gpu or the rows are only on a device.
 *
 * src/gpu/sets_client.c
 */
#include "gpu/sets_gpu.h"
#include "sets/collection.h"

#include "portability/instr_time.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/*
 * The expected time of a shard in ms.  Short shards keep the devices from waiting for one another.
 */
#define SHARD_MS    20
#define MOST_SHARDS 65536

/* ---- the choice of the GPU ---- */

bool
GpuWantsPairs(uint64 elements, char why[GPU_TEXT_BYTES])
{
	bool wanted = GpuIsWanted();

	if (!wanted)
		strlcpy(why, device_setting == DEVICE_CPU ? "qsketch.device is cpu" : GpuMissingReason(),
				GPU_TEXT_BYTES);
	else if (device_setting == DEVICE_GPU)
		strlcpy(why, "qsketch.device is gpu", GPU_TEXT_BYTES);
	else
		snprintf(why, GPU_TEXT_BYTES, "%llu elements, qsketch.gpu_min_elements is %d",
				 (unsigned long long) elements, gpu_min_elements);
	return wanted && (device_setting == DEVICE_GPU || elements >= (uint64) gpu_min_elements);
}

/* ---- sending a collection to a device ---- */

/* A collection that is being sent. */
typedef struct Upload
{
	const qset_collection *collection;
	const uint32 *number; /* number of each element, by rank; NULL: the ranks are the numbers */
	uint64 universe;      /* number of distinct elements */
	bool ids;             /* the ids are sent, too, for other backends */
	bool index;           /* the collection is indexed for searches */
} Upload;

static void
ask_numbers(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Upload *upload = transfer->context;
	uint32 *data = (uint32 *) GpuSlotData(slot);
	uint64 i;

	slot->offset = at * sizeof(uint32);
	slot->bytes = size * sizeof(uint32);
	for (i = 0; i < size; i++)
		data[i] = upload->number[upload->collection->rank[at + i]];
}

static void
post_elements(const Upload *upload, const GpuRef *ref)
{
	const qset_collection *c = upload->collection;
	GpuTransfer numbers = { .ref = ref,
							.op = SETS_ELEMENTS,
							.all = c->elements,
							.most = GPU_SLOT_BYTES / sizeof(uint32),
							.ask = ask_numbers,
							.context = (void *) upload };

	if (upload->number)
		GpuPostAll(&numbers);
	else
		GpuPostArray(ref, SETS_ELEMENTS, c->rank, c->elements * sizeof(uint32));
}

static bool
make_index(const GpuRef *ref, double *ms)
{
	GpuSetsReply reply;
	qb_status status = GpuAskOne(GpuTakeSlot(ref, SETS_INDEX, false), &reply, sizeof(reply));

	*ms += reply.ms;
	return status == QB_OK;
}

/* Make a collection on this device (-1: on any).  The time of indexing is added to "index_ms". */
static bool
make_collection(const Upload *upload, int device, GpuRef *ref, double *index_ms)
{
	const qset_collection *c = upload->collection;
	GpuSetsShape shape = {
		.sets = c->sets, .elements = c->elements, .universe = upload->universe, .device = device
	};

	if (!GpuMake(GPU_FAMILY_SETS, SETS_CREATE, 0, &shape, sizeof(shape), ref))
		return false;
	GpuAttachHandle(ref);
	if (upload->ids)
		GpuPostArray(ref, SETS_IDS, c->id, c->sets * sizeof(int64));
	GpuPostArray(ref, SETS_OFFSETS, c->offset, (c->sets + 1) * sizeof(uint64));
	post_elements(upload, ref);
	return !upload->index || make_index(ref, index_ms);
}

/* Make a value from value "other", by a request with this shape. */
static bool
make_from(const GpuRef *other, int op, const GpuShape *shape, GpuRef *ref)
{
	GpuSlot *slot;

	if (!GpuNewHandle(GPU_FAMILY_SETS, ref))
		return false;
	GpuAttachHandle(ref);
	slot = GpuTakeSlot(ref, op, false);
	slot->other = *other;
	slot->shape = *shape;
	return GpuAskOne(slot, NULL, 0) == QB_OK;
}

static bool
copy_collection(const GpuRef *from, int device, GpuRef *ref)
{
	GpuShape shape;

	*(GpuSetsShape *) shape.bytes = (GpuSetsShape){ .device = device };
	return make_from(from, SETS_COPY, &shape, ref);
}

/* ---- cached collections ---- */

const GpuStored gpu_stored_sets = {
	.family = GPU_FAMILY_SETS,
	.header_bytes = QSET_HEADER_BYTES,
};

/*
 * The name of a collection on a device.  The upper half of id[1] has the device, because names of
 * stored values leave it 0.
 */
static StoredName
name_on(const StoredName *name, int device)
{
	StoredName key = *name;

	key.id[1] |= (uint64) (device + 1) << 32;
	return key;
}

/* Find the cached collection of this name on a device. */
static bool
find_on(const StoredName *name, int device, GpuRef *ref)
{
	StoredName key = name_on(name, device);

	return GpuFindCached(&key, ref, NULL);
}

/*
 * Fetch the offsets and ids of a cached collection into the current memory context; false: the
 * collection is gone.
 */
static bool
describe(const GpuRef *ref, GpuKept *kept)
{
	Size bytes = (kept->sets + 1) * sizeof(uint64);

	kept->offset = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	kept->id = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	return GpuFetchArray(ref, SETS_GET_OFFSETS, 0, 0, kept->offset, bytes) &&
		   GpuFetchArray(ref, SETS_GET_IDS, 0, 0, kept->id, kept->sets * sizeof(int64));
}

/*
 * ---- a search on a device ----
 *
 * A function returns false if a request fails, usually for lack of device memory.  The function may
 * leave handles, which are dropped with the memory of GpuPairs at the latest.
 */

/* The collections and the search on one device. */
typedef struct Replica
{
	int device;
	GpuRef rows;
	GpuRef columns; /* second collection; serial 0: pairs are within one collection */
	GpuRef search;
} Replica;

/* The device on which a value was created. */
static int
device_of(const GpuRef *ref)
{
	return gpu_shared->handle[ref->index].device;
}

/* Raise the error that two collections have elements of different kinds. */
static void
raise_mismatch(void)
{
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("collections of sets have elements of different kinds")));
}

/* Send two collections, with common numbers of their elements. */
static bool
make_both(Replica *replica, const qset_request *r, double *index_ms)
{
	Upload a = { .collection = r->rows };
	Upload b = { .collection = r->columns, .index = true };
	uint32 *number_a = qset_alloc(r->memory, r->rows->universe, sizeof(uint32));
	uint32 *number_b = qset_alloc(r->memory, r->columns->universe, sizeof(uint32));
	bool done = false;

	if (number_a && number_b)
	{
		if (qset_collection_join(r->rows, r->columns, number_a, number_b, &a.universe) != QB_OK)
			raise_mismatch();
		b.universe = a.universe;
		a.number = number_a;
		b.number = number_b;
		done = make_collection(&a, -1, &replica->rows, index_ms) &&
			   make_collection(&b, device_of(&replica->rows), &replica->columns, index_ms);
	}
	qset_release(r->memory, number_a);
	qset_release(r->memory, number_b);
	return done;
}

/* Send the collections of a request to a device.  The time of indexing is added to "index_ms". */
static bool
put_collections(Replica *replica, const qset_request *r, bool ids, double *index_ms)
{
	Upload rows = {
		.collection = r->rows, .universe = r->rows->universe, .ids = ids, .index = true
	};
	bool done = r->columns ? make_both(replica, r, index_ms)
						   : make_collection(&rows, -1, &replica->rows, index_ms);
	replica->device = device_of(&replica->rows);
	return done;
}

/*
 * Make a collection of the sorted rows of a handle, on the device of the rows.  The time of
 * indexing is added to "index_ms".
 */
static bool
make_of_rows(Replica *replica, const GpuRef *memberships, double *index_ms)
{
	GpuShape none = { { 0 } };

	if (!make_from(memberships, SETS_MAKE, &none, &replica->rows))
		return false;
	replica->device = device_of(&replica->rows);
	return make_index(&replica->rows, index_ms);
}

/*
 * Copy the collections of another replica to this replica's device.  If the device has a cached
 * collection of this name, the cached collection is used.  "name" may be NULL.
 */
static bool
copy_replica(Replica *replica, const Replica *from, const StoredName *name)
{
	if (name && find_on(name, replica->device, &replica->rows))
		return true;
	return copy_collection(&from->rows, replica->device, &replica->rows) &&
		   (from->columns.serial == 0 ||
			copy_collection(&from->columns, replica->device, &replica->columns));
}

/* Prepare a search in the collections. */
static bool
prepare(Replica *replica, const qset_request *r, GpuSetsReply *reply)
{
	GpuShape shape;
	GpuSlot *slot;

	*(GpuSetsSearch *) shape.bytes =
		(GpuSetsSearch){ .filter = r->filter, .method = r->method, .directed = r->directed };
	if (!make_from(&replica->rows, SETS_SEARCH, &shape, &replica->search))
		return false;
	if (replica->columns.serial != 0)
	{
		slot = GpuTakeSlot(&replica->search, SETS_AGAINST, false);
		slot->other = replica->columns;
		if (GpuAskOne(slot, NULL, 0) != QB_OK)
			return false;
	}
	slot = GpuTakeSlot(&replica->search, SETS_OPEN, false);
	return GpuAskOne(slot, reply, sizeof(*reply)) == QB_OK;
}

static void
drop_replica(Replica *replica)
{
	GpuDropHandle(&replica->search);
	GpuDropHandle(&replica->rows);
	GpuDropHandle(&replica->columns);
}

/* ---- collections and searches on devices ---- */

struct GpuPairs
{
	GpuScopedHandle handle; /* handle.end() drops the handles of all replicas */
	Replica replica[GPU_DEVICES_MAX];
	int replicas;
	int method;    /* qset_method that the device chose */
	uint64 *first; /* rows of shard i: first[i] .. first[i + 1] - 1 */
	uint64 shards;
	uint64 shard;    /* shard whose pairs are returned */
	qset_pair *pair; /* pairs of the last reply */
	uint64 count;
	uint64 next;
	uint64 at;         /* progress of the search, by the last reply */
	TimestampTz since; /* time of the last progress, to detect a search that hangs */
	double index_ms;   /* times of the steps in ms, for the log */
	double upload_ms;
	double prepare_ms;
	double wait_ms; /* time of waiting for pairs */
};

/* Return the milliseconds since "since", and set "since" to the current time. */
static double
lap(instr_time *since)
{
	instr_time now;
	instr_time passed;

	INSTR_TIME_SET_CURRENT(now);
	passed = now;
	INSTR_TIME_SUBTRACT(passed, *since);
	*since = now;
	return INSTR_TIME_GET_MILLISEC(passed);
}

/*
 * Copy the collections from the first device to all other devices, and prepare the search on each
 * of them.  A device on which a step fails, usually for lack of memory, is left out of the search.
 */
static void
spread(GpuPairs *pairs, const GpuPairsSource *source)
{
	GpuSetsReply reply;
	int device;

	for (device = 0; device < gpu_shared->device_count; device++)
	{
		Replica *replica = &pairs->replica[pairs->replicas];

		if (device == pairs->replica[0].device)
			continue;
		replica->device = device;
		if (copy_replica(replica, &pairs->replica[0], source->name) &&
			prepare(replica, source->request, &reply))
			pairs->replicas++;
		else
			drop_replica(replica);
	}
}

/* ---- shards ---- */

static uint64
rows_of(const GpuPairsSource *source)
{
	return source->origin == PAIRS_READ ? source->request->rows->sets : source->known.sets;
}

/*
 * Estimate the relative work of a row by its number of elements.  If the rows are compared with
 * different numbers of columns, the estimate is multiplied by the row's number of columns.
 */
static uint64
work_of_row(void *context, uint64 row)
{
	const GpuPairsSource *source = context;
	const qset_request *r = source->request;
	const uint64 *offset = source->origin == PAIRS_READ ? r->rows->offset : source->known.offset;
	bool tail = !r->columns && !r->directed && r->filter.top == 0;

	return (offset[row + 1] - offset[row] + 1) * (tail ? rows_of(source) - row : 1);
}

static void
begin_shard(GpuPairs *pairs, uint64 shard)
{
	GpuSlot *slot;

	if (shard >= pairs->shards)
		return;
	slot = GpuTakeSlot(&pairs->replica[shard % pairs->replicas].search, SETS_ROWS, false);
	*(GpuSetsRows *) slot->shape.bytes =
		(GpuSetsRows){ .first = pairs->first[shard],
					   .count = pairs->first[shard + 1] - pairs->first[shard] };
	GpuPost(slot);
}

static void
begin_shards(GpuPairs *pairs, GpuPairsSource *source, double ms)
{
	int i;

	pairs->shards = 1;
	if (pairs->replicas > 1)
		pairs->shards =
			pairs->replicas * (1 + (uint64) Min(ms / SHARD_MS, MOST_SHARDS) / pairs->replicas);
	pairs->first = palloc((pairs->shards + 1) * sizeof(uint64));
	(void) qset_cut_rows(rows_of(source), work_of_row, source, pairs->first, pairs->shards);
	for (i = 0; i < pairs->replicas; i++)
		begin_shard(pairs, i);
	pairs->since = GetCurrentTimestamp();
}

/* ---- reading pairs ---- */

/* Raise an error if the search has made no progress for too long, although the worker replies. */
static void
check_progress(const GpuPairs *pairs)
{
	if (TimestampDifferenceExceeds(pairs->since, GetCurrentTimestamp(), gpu_timeout * 1000))
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("the GPU made no progress in its search for pairs of sets for %d s",
						gpu_timeout),
				 errhint("Set qsketch.device to cpu, or qsketch.gpu_timeout to a longer time.")));
}

/* Request the next reply.  Returns QB_OK or QB_NO_MEMORY. */
static qb_status
ask_more(GpuPairs *pairs)
{
	GpuSlot *slot =
		GpuTakeSlot(&pairs->replica[pairs->shard % pairs->replicas].search, SETS_PAIRS, false);
	qb_status status;
	instr_time since;
	GpuSetsReply reply;

	INSTR_TIME_SET_CURRENT(since);
	GpuAsk(slot);
	GpuAwait(slot);
	pairs->wait_ms += lap(&since);
	if (slot->gone)
		GpuRaiseFailure();
	status = slot->status;
	pairs->next = 0;
	pairs->count = status == QB_OK ? slot->count : 0;
	reply = *(const GpuSetsReply *) slot->shape.bytes;
	memcpy(pairs->pair, GpuSlotData(slot), pairs->count * sizeof(qset_pair));
	GpuDone(slot);
	if (status != QB_OK)
		return status;
	if (pairs->count > 0 || reply.over || reply.at != pairs->at)
		pairs->since = GetCurrentTimestamp();
	else
		check_progress(pairs);
	pairs->at = reply.at;
	if (reply.over)
		begin_shard(pairs, pairs->shard++ + pairs->replicas);
	return QB_OK;
}

static bool
has_more(const GpuPairs *pairs)
{
	return pairs->shard < pairs->shards;
}

const qset_pair *
GpuPairsNext(GpuPairs *pairs, uint64 most, uint64 *count)
{
	const qset_pair *next;

	while (pairs->next == pairs->count && has_more(pairs))
		if (ask_more(pairs) != QB_OK)
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY),
							errmsg("the GPU ran out of memory while it looked for pairs of sets"),
							errhint("Set qsketch.device to cpu, or free memory on the GPU.")));
	next = pairs->pair + pairs->next;
	*count = Min(pairs->count - pairs->next, most);
	pairs->next += *count;
	return next;
}

/* ---- opening and closing a search ---- */

static void
drop_replicas(GpuScopedHandle *handle)
{
	GpuPairs *pairs = (GpuPairs *) handle;
	int i;

	for (i = 0; i < GPU_DEVICES_MAX; i++)
		drop_replica(&pairs->replica[i]);
}

void
GpuPairsClose(GpuPairs *pairs)
{
	ereport(DEBUG1,
			(errmsg_internal("pairs of sets by %d GPUs: %.1f ms upload, %.1f ms index, %.1f ms "
							 "preparation, %.1f ms waiting for pairs",
							 pairs->replicas, pairs->upload_ms, pairs->index_ms, pairs->prepare_ms,
							 pairs->wait_ms)));
	GpuDropScopedHandle(&pairs->handle);
}

int
GpuPairsMethod(const GpuPairs *pairs)
{
	return pairs->method;
}

int
GpuPairsDevices(const GpuPairs *pairs)
{
	return pairs->replicas;
}

/* Find a collection that is cached on any device. */
static bool
find_kept(Replica *replica, GpuPairsSource *source)
{
	for (replica->device = 0; replica->device < gpu_shared->device_count; replica->device++)
		if (find_on(source->name, replica->device, &replica->rows) &&
			describe(&replica->rows, &source->known))
			return true;
	return false;
}

/* Make or find the collections of a search on the first device. */
static bool
put_rows(GpuPairs *pairs, GpuPairsSource *source)
{
	Replica *first = &pairs->replica[0];

	if (source->origin == PAIRS_ON_DEVICE)
		return make_of_rows(first, source->memberships, &pairs->index_ms);
	if (source->origin == PAIRS_KEPT)
		return find_kept(first, source);
	return put_collections(first, source->request, source->name != NULL, &pairs->index_ms);
}

/*
 * Prepare the search, and wait for the first pairs; false: the collection is not cached, or a
 * request failed, usually for lack of device memory.
 */
static bool
open_all(GpuPairs *pairs, GpuPairsSource *source)
{
	Replica *first = &pairs->replica[0];
	GpuSetsReply reply;
	instr_time since;
	int i;

	INSTR_TIME_SET_CURRENT(since);
	if (!put_rows(pairs, source))
		return false;
	pairs->upload_ms = lap(&since) - pairs->index_ms;
	if (!prepare(first, source->request, &reply))
		return false;
	pairs->replicas = 1;
	pairs->method = reply.method;
	if (gpu_shared->device_count > 1 && reply.ms >= gpu_split_time)
		spread(pairs, source);
	for (i = 0; i < pairs->replicas && source->name; i++)
	{
		StoredName key = name_on(source->name, pairs->replica[i].device);

		GpuPublishHandle(&pairs->replica[i].rows, &key);
	}
	begin_shards(pairs, source, reply.ms);
	pairs->prepare_ms = lap(&since);
	source->begun(source->context, rows_of(source));
	while (pairs->count == 0 && has_more(pairs))
		if (ask_more(pairs) != QB_OK)
			return false;
	return true;
}

/*
 * Call open_all().  If the worker fails, warn and return false, so that the CPU finds the pairs.
 * The error is raised with qsketch.device = gpu, or if the rows are only on a device.
 */
static bool
open_safely(GpuPairs *pairs, GpuPairsSource *source, char *why)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool opened = false;

	PG_TRY();
	{
		opened = open_all(pairs, source);
	}
	PG_CATCH();
	{
		ErrorData *error;

		if (device_setting == DEVICE_GPU || source->origin == PAIRS_ON_DEVICE ||
			geterrcode() != ERRCODE_EXTERNAL_ROUTINE_EXCEPTION)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		ConditionVariableCancelSleep();
		GpuLeaveSlots();
		strlcpy(why, error->message, GPU_TEXT_BYTES);
		ereport(WARNING,
				(errcode(error->sqlerrcode), errmsg("%s", error->message),
				 errdetail("No pair of sets had been returned: the CPU finds them instead.")));
		FreeErrorData(error);
	}
	PG_END_TRY();
	return opened;
}

static GpuPairs *
open_pairs(GpuPairsSource *source, char *why)
{
	GpuPairs *pairs = palloc0(sizeof(GpuPairs));

	pairs->pair = palloc(GPU_SLOT_BYTES);
	pairs->handle.end = drop_replicas;
	GpuScopeHandle(&pairs->handle, &pairs->handle.ref, CurrentMemoryContext);
	if (open_safely(pairs, source, why))
		return pairs;
	GpuDropScopedHandle(&pairs->handle);
	return NULL;
}

GpuPairs *
GpuPairsOpen(GpuPairsSource *source, char why[GPU_TEXT_BYTES])
{
	bool kept = source->origin == PAIRS_KEPT;
	char failure[GPU_TEXT_BYTES];
	GpuPairs *pairs;

	if (source->name && !kept)
		GpuCount(COUNT_CACHE_MISSES, 1);
	snprintf(failure, GPU_TEXT_BYTES, "no room for it on the GPU%s",
			 gpu_memory_limit > 0 ? " within qsketch.gpu_memory_limit" : "");
	pairs = open_pairs(source, failure);
	if (pairs && kept)
		GpuCount(COUNT_CACHE_HITS, 1);
	if (pairs || kept)
		return pairs;
	strlcpy(why, failure, GPU_TEXT_BYTES);
	GpuCount(COUNT_FALLBACKS, 1);
	return NULL;
}
