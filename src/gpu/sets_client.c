/*
 * sets_client.c
 *		A backend's side of the GPU worker: searches for pairs.
 *
 * A search that might take long is spread over all devices: each has the whole
 * collection.  The rows are cut into shards of about the same work, and device i
 * of n takes shards i, i + n, ...  Pairs are handed out shard by shard, which is the
 * order of the rows, while all devices work on the next shards.
 *
 * A reply has as many pairs as a slot takes, or none so far.  Between two replies
 * the worker serves others.
 *
 * Nothing is handed out before the first reply with pairs is there.  A worker that is
 * lost before loses nothing: with qsketch.device = auto the CPU begins anew.
 *
 * src/gpu/sets_client.c
 */
#include "gpu/client.h"
#include "gpu/sets_client.h"
#include "gpu/gpu.h"

#include "portability/instr_time.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* A shard should take so many ms, so that none keeps the others waiting. */
#define SHARD_MS    20
#define MOST_SHARDS 65536

struct GpuPairs
{
	GpuReplica replica[GPU_DEVICES_MAX];
	int replicas;
	int method;    /* as the device chose it */
	uint64 *first; /* rows of shard i: first[i] .. first[i + 1] - 1 */
	uint64 shards;
	uint64 shard;    /* whose pairs are handed out */
	qset_pair *pair; /* of the last reply */
	uint64 count;
	uint64 next;
	uint64 at;         /* how far the last reply's search had got */
	TimestampTz since; /* when there was some progress last */
	double index_ms;   /* what it took, for who wants to know */
	double upload_ms;
	double prepare_ms;
	double wait_ms; /* for pairs */
	MemoryContextCallback callback;
};

/* What is asked for, and how. */
typedef struct Opening
{
	const qset_request *request; /* without collections if it is kept there */
	const StoredName *name;      /* or NULL */
	GpuKept *kept;               /* or NULL */
	const GpuRef *memberships;   /* sorted rows on a device, of which it is made; or NULL */
	const GpuPairsWatch *watch;
	const uint64 *offset; /* of the rows */
	uint64 sets;
	char *why;
} Opening;

/* ---- whether ---- */

bool
GpuWantsPairs(uint64 elements, char why[GPU_TEXT_BYTES])
{
	bool enough = elements >= (uint64) gpu_min_elements;

	if (!GpuIsWanted())
	{
		strlcpy(why, device_setting == DEVICE_CPU ? "qsketch.device is cpu" : GpuMissingReason(),
				GPU_TEXT_BYTES);
		return false;
	}
	if (device_setting == DEVICE_GPU)
		strlcpy(why, "qsketch.device is gpu", GPU_TEXT_BYTES);
	else
		snprintf(why, GPU_TEXT_BYTES, "%llu elements, qsketch.gpu_min_elements is %d",
				 (unsigned long long) elements, gpu_min_elements);
	return device_setting == DEVICE_GPU || enough;
}

/* ---- collections and searches on devices ---- */

/* Milliseconds since the last call, or since "since" was set. */
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

/* Let the other devices work, too, if they have room. */
static void
spread(GpuPairs *pairs, const Opening *o)
{
	GpuSetsReply reply;
	int device;

	for (device = 0; device < gpu_shared->device_count; device++)
	{
		GpuReplica *replica = &pairs->replica[pairs->replicas];

		if (device == pairs->replica[0].device)
			continue;
		replica->device = device;
		if (GpuReplicaCopy(replica, &pairs->replica[0], o->name) &&
			GpuReplicaSearch(replica, o->request, &reply))
			pairs->replicas++;
		else
			GpuReplicaDrop(replica);
	}
}

/* ---- shards ---- */

/* The work of a row is taken to grow with its elements and the columns that it is compared with. */
static uint64
work_of_row(void *context, uint64 row)
{
	const Opening *o = context;
	const qset_request *r = o->request;
	bool tail = !r->columns && !r->directed && r->filter.top == 0;

	return (o->offset[row + 1] - o->offset[row] + 1) * (tail ? o->sets - row : 1);
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
begin_shards(GpuPairs *pairs, const Opening *o, double ms)
{
	int i;

	pairs->shards = 1;
	if (pairs->replicas > 1)
		pairs->shards =
			pairs->replicas * (1 + (uint64) Min(ms / SHARD_MS, MOST_SHARDS) / pairs->replicas);
	pairs->first = palloc((pairs->shards + 1) * sizeof(uint64));
	(void) qset_cut_rows(o->sets, work_of_row, unconstify(Opening *, o), pairs->first,
						 pairs->shards);
	for (i = 0; i < pairs->replicas; i++)
		begin_shard(pairs, i);
	pairs->since = GetCurrentTimestamp();
}

/* ---- back ---- */

/* Raise an error if the worker answers, but the device has not got on for too long. */
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

/* The next reply; QB_OK or QB_NO_MEMORY. */
static qb_status
ask_more(GpuPairs *pairs)
{
	GpuSlot *slot =
		GpuTakeSlot(&pairs->replica[pairs->shard % pairs->replicas].search, SETS_PAIRS, false);
	qb_status status;
	instr_time since;
	GpuSetsReply reply;
	bool gone;

	INSTR_TIME_SET_CURRENT(since);
	GpuAsk(slot);
	GpuAwait(slot);
	pairs->wait_ms += lap(&since);
	gone = slot->gone;
	status = slot->status;
	pairs->next = 0;
	pairs->count = gone || status != QB_OK ? 0 : slot->count;
	reply = *(const GpuSetsReply *) slot->shape.bytes;
	memcpy(pairs->pair, GpuSlotData(slot), pairs->count * sizeof(qset_pair));
	GpuDone(slot);
	if (gone)
		GpuRaiseLost();
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

/* ---- life cycle ---- */

static void
drop(void *argument)
{
	GpuPairs *pairs = argument;
	int i;

	for (i = 0; i < GPU_DEVICES_MAX; i++)
		GpuReplicaDrop(&pairs->replica[i]);
}

void
GpuPairsClose(GpuPairs *pairs)
{
	ereport(DEBUG1,
			(errmsg_internal("pairs of sets by %d GPUs: %.1f ms upload, %.1f ms index, %.1f ms "
							 "preparation, %.1f ms waiting for pairs",
							 pairs->replicas, pairs->upload_ms, pairs->index_ms, pairs->prepare_ms,
							 pairs->wait_ms)));
	drop(pairs);
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

/* A collection that is kept on any device. */
static bool
find_kept(GpuReplica *replica, Opening *o)
{
	for (replica->device = 0; replica->device < gpu_shared->device_count; replica->device++)
		if (GpuSetsFind(o->name, replica->device, &replica->rows) &&
			GpuSetsDescribe(&replica->rows, o->kept))
		{
			o->offset = o->kept->offset;
			return true;
		}
	return false;
}

/* Have the collections of a search on a device. */
static bool
place_rows(GpuPairs *pairs, Opening *o)
{
	GpuReplica *first = &pairs->replica[0];

	if (o->memberships)
		return GpuReplicaMake(first, o->memberships, &pairs->index_ms);
	if (o->kept)
		return find_kept(first, o);
	return GpuReplicaPlace(first, o->request, o->name != NULL, &pairs->index_ms);
}

/* Do all up to the first pairs; false: the device has no memory, or does not keep the collection. */
static bool
open_all(GpuPairs *pairs, Opening *o)
{
	GpuReplica *first = &pairs->replica[0];
	GpuSetsReply reply;
	instr_time since;
	int i;

	INSTR_TIME_SET_CURRENT(since);
	if (!place_rows(pairs, o))
		return false;
	pairs->upload_ms = lap(&since) - pairs->index_ms;
	if (!GpuReplicaSearch(first, o->request, &reply))
		return false;
	pairs->replicas = 1;
	pairs->method = reply.method;
	if (gpu_shared->device_count > 1 && reply.ms >= gpu_split_time)
		spread(pairs, o);
	for (i = 0; i < pairs->replicas && o->name; i++)
		GpuSetsKeep(o->name, pairs->replica[i].device, &pairs->replica[i].rows);
	begin_shards(pairs, o, reply.ms);
	pairs->prepare_ms = lap(&since);
	o->watch->begun(o->watch->context, o->sets);
	while (pairs->count == 0 && has_more(pairs))
		if (ask_more(pairs) != QB_OK)
			return false;
	return true;
}

/*
 * The same, but false also if the worker was lost and the CPU may find the pairs instead: if
 * the rows are not on the device alone.
 */
static bool
open_safely(GpuPairs *pairs, Opening *o)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool opened = false;

	PG_TRY();
	{
		opened = open_all(pairs, o);
	}
	PG_CATCH();
	{
		ErrorData *error;

		if (device_setting == DEVICE_GPU || o->memberships ||
			geterrcode() != ERRCODE_EXTERNAL_ROUTINE_EXCEPTION)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		ConditionVariableCancelSleep();
		GpuLeaveSlots();
		strlcpy(o->why, error->message, GPU_TEXT_BYTES);
		ereport(WARNING,
				(errcode(error->sqlerrcode), errmsg("%s", error->message),
				 errdetail("No pair of sets had been returned: the CPU finds them instead.")));
		FreeErrorData(error);
	}
	PG_END_TRY();
	return opened;
}

/* Have the handles go with the memory of "pairs". */
static void
attach_replica(const GpuPairs *pairs)
{
	int i;

	for (i = 0; i < pairs->replicas; i++)
	{
		GpuAttachHandle(&pairs->replica[i].rows);
		GpuAttachHandle(&pairs->replica[i].search);
	}
}

static GpuPairs *
open_pairs(Opening *o)
{
	GpuPairs *pairs = palloc0(sizeof(GpuPairs));

	pairs->pair = palloc(GPU_SLOT_BYTES);
	pairs->callback.func = drop;
	pairs->callback.arg = pairs;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &pairs->callback);
	if (open_safely(pairs, o))
	{
		attach_replica(pairs);
		return pairs;
	}
	drop(pairs);
	return NULL;
}

/* Open, or say why not. */
static GpuPairs *
open_or_say(Opening *o, char why[GPU_TEXT_BYTES])
{
	char failure[GPU_TEXT_BYTES];
	GpuPairs *pairs;

	snprintf(failure, GPU_TEXT_BYTES, "no room for it on the GPU%s",
			 gpu_memory_limit > 0 ? " within qsketch.gpu_memory_limit" : "");
	o->why = failure;
	pairs = open_pairs(o);
	if (pairs)
		return pairs;
	strlcpy(why, failure, GPU_TEXT_BYTES);
	GpuCount(COUNT_FALLBACKS, 1);
	return NULL;
}

GpuPairs *
GpuPairsOpen(const qset_request *request, const StoredName *name, const GpuPairsWatch *watch,
			 char why[GPU_TEXT_BYTES])
{
	Opening o = { .request = request,
				  .name = name,
				  .watch = watch,
				  .offset = request->rows->offset,
				  .sets = request->rows->sets };

	if (name)
		GpuCount(COUNT_CACHE_MISSES, 1);
	return open_or_say(&o, why);
}

GpuPairs *
GpuPairsOpenMade(const qset_request *request, const GpuRef *memberships, const GpuPairsWatch *watch,
				 const GpuKept *made, char why[GPU_TEXT_BYTES])
{
	Opening o = { .request = request,
				  .memberships = memberships,
				  .watch = watch,
				  .offset = made->offset,
				  .sets = made->sets };

	return open_or_say(&o, why);
}

GpuPairs *
GpuPairsOpenKept(const qset_request *request, const StoredName *name, const GpuPairsWatch *watch,
				 GpuKept *kept)
{
	char why[GPU_TEXT_BYTES];
	Opening o = { .request = request,
				  .name = name,
				  .kept = kept,
				  .watch = watch,
				  .sets = kept->sets,
				  .why = why };
	GpuPairs *pairs = open_pairs(&o);

	if (pairs)
		GpuCount(COUNT_CACHE_HITS, 1);
	return pairs;
}
