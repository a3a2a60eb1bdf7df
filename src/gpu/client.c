/*
 * client.c
 *		A backend's calls to the GPU worker: one request, or many in a row; cached values.
 *
 * The worker serves posted requests in the background.  The backend does not wait for a reply, and
 * learns of an error when it requests the value.
 *
 * A long transfer with replies has several requests in progress, each with a slot.  It takes a
 * further slot only if a slot is free.  A backend that holds replies never waits for a slot, so
 * that two backends cannot block each other.
 *
 * src/gpu/client.c
 */
#include "gpu/client.h"

#include "gpu/gpu.h"

#include "base/slot.h"
#include "miscadmin.h"
#include "pgbase/process.h"
#include "pgbase/stored.h"
#include "portability/instr_time.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

const char *
GpuMissingReason(void)
{
	if (gpu_shared == NULL)
		return "the GPU worker is not configured";
	return gpu_shared->reason[0] ? gpu_shared->reason : "the GPU worker has not started";
}

/* Raise the error that qsketch.device requires a GPU and none is available. */
static void
raise_missing(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("qsketch.device is gpu, but there is no GPU: %s", GpuMissingReason()),
			 gpu_shared == NULL
				 ? errhint("Add qsketch to shared_preload_libraries, leave qsketch.gpu_worker at "
						   "auto, and restart the server; or set qsketch.device to auto.")
				 : errhint("Set qsketch.device to auto to use the CPU until there is one.")));
}

/*
 * True if lookups and new states may use the worker.  Raises an error if a GPU is required and not
 * available.
 */
bool
GpuIsWanted(void)
{
	if (device_setting == DEVICE_CPU)
		return false;
	if (device_setting == DEVICE_GPU && GpuStateNow() != GPU_READY && !GpuAwaitStart())
		raise_missing();
	return GpuStateNow() == GPU_READY;
}

const char *
GpuReason(void)
{
	if (device_setting == DEVICE_CPU)
		return "qsketch.device is cpu";
	if (device_setting == DEVICE_GPU || GpuStateNow() == GPU_READY)
		return NULL;
	return GpuMissingReason();
}

/* Send a request, wait, and copy "bytes" bytes of the reply's shape; false: the value is gone. */
static bool
ask(GpuSlot *slot, void *reply, Size bytes, qb_status *status)
{
	bool there;

	GpuAsk(slot);
	GpuAwait(slot);
	there = !slot->gone;
	*status = there ? slot->status : QB_NO_MEMORY;
	if (bytes > 0)
		memcpy(reply, slot->shape.bytes, bytes);
	GpuDone(slot);
	return there;
}

qb_status
GpuAskOne(GpuSlot *slot, void *reply, Size bytes)
{
	qb_status status;

	(void) ask(slot, reply, bytes, &status);
	return status;
}

qb_status
GpuFetchOne(GpuSlot *slot, void *reply, Size bytes)
{
	qb_status status;

	if (!ask(slot, reply, bytes, &status))
		GpuRaiseFailure();
	return status;
}

bool
GpuMake(GpuFamily family, int op, int count, const void *shape, Size bytes, GpuRef *ref)
{
	GpuSlot *slot;

	if (!GpuNewHandle(family, ref))
		return false;
	slot = GpuTakeSlot(ref, op, false);
	slot->count = count;
	if (bytes > 0)
		memcpy(slot->shape.bytes, shape, bytes);
	if (GpuAskOne(slot, NULL, 0) == QB_OK)
		return true;
	GpuDropHandle(ref);
	return false;
}

void
GpuDropScopedHandle(GpuScopedHandle *handle)
{
	if (handle->end)
		handle->end(handle);
	GpuDropHandle(&handle->ref);
	handle->ref.serial = 0;
}

static void
drop_scoped(void *argument)
{
	GpuDropScopedHandle(argument);
}

void
GpuScopeHandle(GpuScopedHandle *handle, const GpuRef *ref, MemoryContext context)
{
	handle->ref = *ref;
	handle->callback.func = drop_scoped;
	handle->callback.arg = handle;
	MemoryContextRegisterResetCallback(context, &handle->callback);
	GpuAttachHandle(ref);
}

void
GpuPostAll(const GpuTransfer *transfer)
{
	uint64 at;

	for (at = 0; at < transfer->all; at += transfer->most)
	{
		GpuSlot *slot = GpuTakeSlot(transfer->ref, transfer->op, false);

		transfer->ask(transfer, slot, at, Min(transfer->all - at, transfer->most));
		GpuPost(slot);
	}
}

/* A queue of requests in progress, oldest first, with the offset of each request's piece. */
typedef struct Way
{
	GpuSlot *slot[GPU_HELD_MAX];
	uint64 at[GPU_HELD_MAX]; /* offsets of the pieces */
	uint64 first;            /* number of the oldest request */
	uint64 last;             /* number of the next request */
	uint64 next;             /* offset of the next piece to request */
} Way;

/*
 * Maximum number of requests in progress.  For chunks, it is at least GPU_TOGETHER for each device,
 * because the worker serves up to GPU_TOGETHER requests of a device together.
 */
static uint64
most_on_way(const GpuTransfer *transfer)
{
	return transfer->chunks ? Max(GPU_HELD, GPU_TOGETHER * gpu_shared->device_count) : GPU_HELD;
}

/*
 * Request the next piece.  False: no piece is left, no slot is free, or most_on_way() requests are
 * in progress.
 */
static bool
ask_next(const GpuTransfer *transfer, Way *way)
{
	GpuSlot *slot = NULL;

	while (transfer->each && way->next < transfer->all && transfer->ref[way->next].serial == 0)
		way->next++;
	if (way->next < transfer->all && way->last - way->first < most_on_way(transfer))
		slot = GpuTakeSlot(transfer->ref + (transfer->each ? way->next : 0), transfer->op,
						   way->last > way->first);
	if (slot == NULL)
		return false;
	if (transfer->ask)
		transfer->ask(transfer, slot, way->next, Min(transfer->all - way->next, transfer->most));
	GpuAsk(slot);
	way->at[way->last % GPU_HELD_MAX] = way->next;
	way->slot[way->last++ % GPU_HELD_MAX] = slot;
	way->next += transfer->most;
	return true;
}

/* Take the oldest reply; false: the value is gone, or the piece failed (never with all_replies). */
static bool
take_oldest(const GpuTransfer *transfer, Way *way)
{
	GpuSlot *slot = way->slot[way->first % GPU_HELD_MAX];
	uint64 at = way->at[way->first++ % GPU_HELD_MAX];
	bool there;

	GpuAwait(slot);
	there = GpuIsAnswer(slot) || transfer->all_replies;
	if (there)
		transfer->take(transfer, slot, at, Min(transfer->all - at, transfer->most));
	GpuDone(slot);
	return there;
}

bool
GpuAskAll(const GpuTransfer *transfer)
{
	Way way = { .first = 0 };
	bool there = true;

	while (there)
	{
		if (ask_next(transfer, &way))
			continue;
		if (way.first == way.last)
			break;
		there = take_oldest(transfer, &way);
	}
	GpuLeaveSlots();
	return there;
}

/* An array that is sent to the worker, or fetched. */
typedef struct Array
{
	const uint8 *from; /* NULL: the array is fetched */
	uint8 *to;
	int number;
	uint64 first; /* first byte that is fetched */
} Array;

static void
ask_array(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Array *array = transfer->context;

	slot->count = array->number;
	slot->offset = array->first + at;
	slot->bytes = size;
	if (array->from)
		memcpy(GpuSlotData(slot), array->from + at, size);
}

static void
take_array(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Array *array = transfer->context;

	memcpy(array->to + at, GpuSlotData(slot), size);
}

static GpuTransfer
transfer_of(const GpuRef *ref, int op, Array *array, uint64 bytes)
{
	return (GpuTransfer){ .ref = ref,
						  .op = op,
						  .all = bytes,
						  .most = GPU_SLOT_BYTES,
						  .ask = ask_array,
						  .take = take_array,
						  .context = array };
}

void
GpuPostArray(const GpuRef *ref, int op, const void *array, uint64 bytes)
{
	Array sent = { .from = array };
	GpuTransfer transfer = transfer_of(ref, op, &sent, bytes);

	GpuPostAll(&transfer);
}

bool
GpuFetchArray(const GpuRef *ref, int op, int number, uint64 first, void *to, uint64 bytes)
{
	Array fetched = { .to = to, .number = number, .first = first };
	GpuTransfer transfer = transfer_of(ref, op, &fetched, bytes);

	return GpuAskAll(&transfer);
}

/* Keys that are sent to the worker, with their weights, or with the array for their answers. */
typedef struct Keys
{
	const uint64 *key;
	const int64 *weight;
	uint8 *answer;
	size_t answer_bytes; /* size of a key's answer */
} Keys;

static void
ask_keys(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Keys *keys = transfer->context;
	uint64 *data = (uint64 *) GpuSlotData(slot);

	slot->count = (int) size;
	slot->weighted = keys->weight != NULL;
	memcpy(data, keys->key + at, size * sizeof(uint64));
	if (keys->weight)
		memcpy(data + size, keys->weight + at, size * sizeof(int64));
}

static void
take_answers(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const Keys *keys = transfer->context;

	memcpy(keys->answer + at * keys->answer_bytes, GpuSlotData(slot), size * keys->answer_bytes);
}

void
GpuPostKeys(const GpuRef *ref, int op, const uint64 *key, const int64 *weight, size_t count)
{
	Keys keys = { .key = key, .weight = weight };
	GpuTransfer transfer = { .ref = ref,
							 .op = op,
							 .all = count,
							 .most = weight ? GPU_SLOT_WEIGHED : GPU_SLOT_KEYS,
							 .ask = ask_keys,
							 .context = &keys };

	GpuPostAll(&transfer);
}

/*
 * ---- waiting for the GPU worker: for a free slot, for a reply ----
 *
 * Each wait serves interrupts, and ends with an error when the worker fails.  Waits are bounded: a
 * backend gives up if the worker finishes no piece of any request for qsketch.gpu_timeout.  Pieces
 * are short, and processes are scheduled fairly (worker/schedule.c).  Therefore the request of this
 * process advances as long as the worker finishes pieces.  While a device hangs, no piece counts as
 * finished (worker/worker.c).
 *
 * "held" has the slots with awaited replies until the replies are read.  If the query ends earlier,
 * GpuLeaveSlots() abandons these slots.
 */

/* Longest sleep until the backend checks again that the worker makes progress. */
#define POLL_MS 1000

/* Longest sleep of a wait for a slot, after which the backend tries again to take a slot. */
#define SLOT_POLL_MS 100

/* The last known progress of the worker, and the time since which it has not changed. */
typedef struct Watch
{
	uint64 progress;
	TimestampTz since;
} Watch;

static GpuSlot *held[GPU_HELD_MAX];

/* The wait events, which have names from PostgreSQL 17 on. */
typedef enum GpuWait
{
	WAIT_FOR_SLOT,
	WAIT_FOR_REPLY,
	WAIT_FOR_START
} GpuWait;

static uint32
wait_event(GpuWait wait)
{
#if PG_VERSION_NUM >= 170000
	static const char *const name[] = { "QsketchGpuSlot", "QsketchGpuReply", "QsketchGpuStart" };
	static uint32 event[lengthof(name)];

	if (event[wait] == 0)
		event[wait] = WaitEventExtensionNew(name[wait]);
	return event[wait];
#else
	return PG_WAIT_EXTENSION;
#endif
}

/* Raise the error that the worker failed while it had a value of this query. */
void
GpuRaiseFailure(void)
{
	char reason[GPU_TEXT_BYTES];

	strlcpy(reason, gpu_shared->reason, sizeof(reason));
	ereport(ERROR,
			(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
			 errmsg("GPU operation failed: %s", reason[0] ? reason : "the GPU worker has ended"),
			 errdetail("The query had data on the GPU."),
			 errhint("Repeat the query, with qsketch.device = cpu to do without the GPU.")));
}

static void
start_watch(Watch *watch)
{
	watch->progress = pg_atomic_read_u64(&gpu_shared->progress);
	watch->since = GetCurrentTimestamp();
}

/* Before each sleep, raise an error if the worker has failed or makes no progress. */
static void
check_watch(Watch *watch)
{
	uint64 progress = pg_atomic_read_u64(&gpu_shared->progress);
	TimestampTz now = GetCurrentTimestamp();

	CHECK_FOR_INTERRUPTS();
	if (GpuStateNow() != GPU_READY)
		GpuRaiseFailure();
	if (progress != watch->progress)
		start_watch(watch);
	else if (TimestampDifferenceExceeds(watch->since, now, gpu_timeout * 1000))
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg("GPU worker made no progress for %d s", gpu_timeout),
				 errhint("Set qsketch.device to cpu, or qsketch.gpu_timeout to a longer time.")));
}

static GpuSlot *
wait_for_slot(void)
{
	GpuSlot *slot;
	Watch watch;
	instr_time start;
	instr_time end;

	INSTR_TIME_SET_CURRENT(start);
	start_watch(&watch);
	for (;;)
	{
		check_watch(&watch);
		slot = GpuTrySlot();
		if (slot)
			break;
		ConditionVariableTimedSleep(&gpu_shared->slot_freed[GpuHasFew() ? 0 : 1], SLOT_POLL_MS,
									wait_event(WAIT_FOR_SLOT));
	}
	ConditionVariableCancelSleep();
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	GpuCount(COUNT_RING_WAITS, 1);
	GpuCount(COUNT_RING_WAIT_US, (int64) INSTR_TIME_GET_MICROSEC(end));
	return slot;
}

GpuSlot *
GpuTakeSlot(const GpuRef *ref, int op, bool try)
{
	GpuSlot *slot = GpuTrySlot();

	if (slot == NULL && try)
		return NULL;
	if (slot == NULL)
		slot = wait_for_slot();
	slot->op = op;
	slot->handle = *ref;
	slot->other.serial = 0;
	slot->wait = false;
	return slot;
}

void
GpuPost(GpuSlot *slot)
{
	if (!GpuSubmit(slot))
		GpuRaiseFailure();
}

static GpuSlot **
find_held(const GpuSlot *slot)
{
	int i;

	for (i = 0; i < GPU_HELD_MAX; i++)
		if (held[i] == slot)
			return &held[i];
	elog(ERROR, "GPU slot is not held");
	return NULL;
}

void
GpuAsk(GpuSlot *slot)
{
	slot->wait = true;
	*find_held(NULL) = slot;
	if (!GpuSubmit(slot))
	{
		*find_held(slot) = NULL;
		GpuRaiseFailure();
	}
}

void
GpuAwait(GpuSlot *slot)
{
	Watch watch;

	start_watch(&watch);
	while (!GpuIsDone(slot))
	{
		check_watch(&watch);
		PollLatch(POLL_MS, wait_event(WAIT_FOR_REPLY));
		ResetLatch(MyLatch);
	}
	if (slot->status == QB_DEVICE_ERROR)
		GpuRaiseFailure();
}

void
GpuDone(GpuSlot *slot)
{
	*find_held(slot) = NULL;
	GpuFreeSlot(slot);
}

void
GpuLeaveSlots(void)
{
	int i;

	for (i = 0; i < GPU_HELD_MAX; i++)
	{
		GpuSlot *slot = held[i];

		held[i] = NULL;
		if (slot)
			GpuAbandonSlot(slot);
	}
}

bool
GpuAwaitStart(void)
{
	TimestampTz start = GetCurrentTimestamp();

	while ((GpuStateNow() == GPU_STARTING || GpuStateNow() == GPU_FAILED) &&
		   !TimestampDifferenceExceeds(start, GetCurrentTimestamp(), gpu_timeout * 1000))
	{
		CHECK_FOR_INTERRUPTS();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 20,
						 wait_event(WAIT_FOR_START));
		ResetLatch(MyLatch);
	}
	return GpuStateNow() == GPU_READY;
}

/*
 * ---- cached values: copies of stored values on devices, for lookups of many keys ----
 *
 * The name of a value in a TOAST table has the value's header, and the database, table and number
 * under which the value is stored.  The number is not reused while the value exists.
 *
 * Any other value is named by its header and a hash of all its bytes.  The key of the hash is a
 * secret of this server.  So no user can make two values with the same name.
 *
 * A query may compute many values that are looked up only once.  So a small computed value stays on
 * the device only if this process looks it up a second time.  A stored value that is short enough
 * for its row is treated like a computed value.
 *
 * The worker may drop cached values at any time.  A lookup whose value is gone loads the value
 * again.
 */

bool
GpuNameStored(const GpuStored *stored, Datum datum, StoredName *key)
{
	uint32 bytes = stored->header_bytes;
	struct varatt_external toast;

	Assert(bytes <= sizeof(key->header));
	memset(key, 0, sizeof(*key));
	if (!StoredRead(datum, 0, &bytes, key->header))
		return false;
	VARATT_EXTERNAL_GET_POINTER(toast, DatumGetPointer(datum));
	key->family = stored->family;
	key->kind = MyDatabaseId;
	key->id[0] = toast.va_toastrelid;
	key->id[1] = toast.va_valueid;
	return true;
}

void
GpuNameBytes(const GpuStored *stored, const uint8 *bytes, Size length, StoredName *key)
{
	const uint64 *secret = gpu_shared->secret;

	memset(key, 0, sizeof(*key));
	key->family = stored->family;
	memcpy(key->header, bytes, stored->header_bytes);
	key->id[0] = qb_hash_bytes(bytes, length, secret);
	key->id[1] = qb_hash_bytes(bytes, length, secret + 2);
}

int
GpuOfCached(const StoredName *key)
{
	GpuRef ref;
	int device;

	if (GpuStateNow() != GPU_READY || !GpuFindCached(key, &ref, &device) || device < 0)
		return -1;
	return gpu_shared->device[device].number;
}

bool
GpuMayLookup(size_t count)
{
	return count > 0 && GpuIsWanted() && (device_setting == DEVICE_GPU || count >= gpu_min_keys);
}

/* Look up keys in a value on a device; false: the value is gone, or a request failed. */
static bool
look_up(const GpuLookup *lookup, const GpuRef *ref)
{
	Keys keys = { .key = lookup->key,
				  .answer = lookup->answer,
				  .answer_bytes = lookup->answer_bytes };
	GpuTransfer transfer = { .ref = ref,
							 .op = lookup->op,
							 .all = lookup->count,
							 .most = GPU_SLOT_KEYS,
							 .ask = ask_keys,
							 .take = take_answers,
							 .context = &keys };

	return GpuAskAll(&transfer);
}

bool
GpuLookupCached(const GpuLookup *lookup, const StoredName *name)
{
	GpuRef ref;
	bool found = GpuFindCached(name, &ref, NULL) && look_up(lookup, &ref);

	if (found)
		GpuCount(COUNT_CACHE_HITS, 1);
	return found;
}

/*
 * True if this process has recently looked up a value of this name.  Otherwise the name is
 * remembered.
 */
static bool
was_seen(const StoredName *name)
{
	static uint64 seen[GPU_CACHED_MAX];
	static int next = 0;
	int i;

	for (i = 0; i < lengthof(seen); i++)
		if (seen[i] == name->id[0])
			return true;
	seen[next++ % lengthof(seen)] = name->id[0];
	return false;
}

/* True if a value that was loaded for a lookup should stay on the device. */
static bool
is_worth_keeping(const GpuRef *ref, const StoredName *name)
{
	return name->kind != 0 || gpu_shared->handle[ref->index].bytes >= GpuLookupBytes() ||
		   was_seen(name);
}

bool
GpuLookupLoaded(const GpuLookup *lookup, const void *value, const StoredName *name)
{
	GpuRef ref;
	bool done;

	GpuCount(COUNT_CACHE_MISSES, 1);
	if (!lookup->stored->load(value, &ref))
	{
		GpuCount(COUNT_FALLBACKS, 1);
		return false;
	}
	done = look_up(lookup, &ref);
	if (name && done && is_worth_keeping(&ref, name))
		GpuPublishHandle(&ref, name);
	GpuDropHandle(&ref);
	return done;
}
