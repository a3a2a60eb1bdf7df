/*
 * handles.c
 *		The table of the worker's values: owners of values, and cached values.
 *
 * See shared.h for the states.  A backend finds its own handles by scanning the table, if
 * "handle_count" says that it has any.
 *
 * Cached values and chunks of cached columns have no owner, and are found by name (names.c).
 * Columns may use 7/8 of the handles and of the bytes of the cache.  Values may use the part of the
 * cache that columns do not use.
 *
 * If a limit is exceeded or a device has no memory, the least recently used handle of one role is
 * evicted.  All roles with cached handles have equal quotas.  If the role that needs memory has
 * used its quota, this role loses a handle.  Otherwise the role with the most memory or handles
 * loses a handle.  No chunk of another role is evicted to get memory for a value.
 *
 * src/gpu/handles.c
 */
#include "gpu/gpu.h"
#include "gpu/shared.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#define HANDLE(ref) (&gpu_shared->handle[(ref)->index])

static void
lock(LWLockMode mode)
{
	LWLockAcquire(gpu_shared->handles, mode);
}

static void
unlock(void)
{
	LWLockRelease(gpu_shared->handles);
}

/* ---- functions whose caller holds the lock ---- */

static bool
is_owned(const GpuHandle *handle)
{
	return handle->state == HANDLE_LIVE || handle->state == HANDLE_LOST;
}

static bool
is_mine(const GpuHandle *handle)
{
	return is_owned(handle) && handle->proc == ProcessNumber(MyProc);
}

static bool
is_named(const GpuHandle *handle, const GpuRef *ref)
{
	return handle->state != HANDLE_UNUSED && handle->serial == ref->serial;
}

static void
disown(GpuHandle *handle)
{
	pg_atomic_fetch_sub_u32(&gpu_shared->handle_count[handle->proc], 1);
	handle->in_transfer = false;
	memset(&handle->token, 0, sizeof(handle->token));
}

static void
become_pending_free(GpuHandle *handle)
{
	handle->state = HANDLE_PENDING_FREE;
	pg_atomic_fetch_add_u32(&gpu_shared->pending_frees, 1);
}

/* Mark a handle pending free when its owner no longer needs it. */
static void
free_later(GpuHandle *handle)
{
	disown(handle);
	become_pending_free(handle);
}

/*
 * The first unused handle; NULL: this process may take no handle now.  Taking the first handle
 * keeps cached handles near the front of the table, where GpuEachCached() finds them soon.
 */
static GpuHandle *
find_unused(Oid role)
{
	GpuHandle *unused = NULL;
	int free = 0;
	int mine = pg_atomic_read_u32(&gpu_shared->handle_count[ProcessNumber(MyProc)]);
	int roles = 0;
	int i;

	for (i = 0; i < GPU_HANDLES; i++)
	{
		GpuHandle *handle = &gpu_shared->handle[i];

		roles += is_owned(handle) && handle->role == role;
		if (handle->state != HANDLE_UNUSED || pg_atomic_read_u32(&handle->pending) > 0)
			continue;
		free++;
		unused = unused ? unused : handle;
	}
	return GpuMayTake(free, GPU_HANDLES, mine, roles) ? unused : NULL;
}

static void
assign_handle(GpuHandle *handle, GpuFamily family, Oid role)
{
	handle->family = family;
	handle->serial = ++gpu_shared->last_serial;
	handle->state = HANDLE_LIVE;
	handle->proc = ProcessNumber(MyProc);
	handle->pid = MyProcPid;
	handle->role = role;
	handle->subid = GetCurrentSubTransactionId();
	handle->attached = handle->in_transfer = handle->full = false;
	handle->bytes = 0;
	handle->pages = 0;
	memset(&handle->chunk_state, 0, sizeof(handle->chunk_state));
	handle->device = -1;
	pg_atomic_fetch_add_u32(&gpu_shared->handle_count[handle->proc], 1);
}

/* ---- functions that take the lock themselves ---- */

/* Wake the worker if handles are pending free. */
static void
wake_for_pending(void)
{
	if (pg_atomic_read_u32(&gpu_shared->pending_frees) > 0 && GpuStateNow() == GPU_READY)
		SetLatch(gpu_shared->worker_latch);
}

/* Make a handle that belongs to this transaction; false: this process may take no handle now. */
bool
GpuNewHandle(GpuFamily family, GpuRef *ref)
{
	Oid role = GetAuthenticatedUserId();
	GpuHandle *handle;

	lock(LW_EXCLUSIVE);
	handle = find_unused(role);
	if (handle)
	{
		assign_handle(handle, family, role);
		*ref = GpuRefOf(handle);
	}
	unlock();
	return handle != NULL;
}

/* Drop a handle if it still belongs to this backend.  Serial 0: no handle. */
void
GpuDropHandle(const GpuRef *ref)
{
	if (ref->serial == 0)
		return;
	lock(LW_EXCLUSIVE);
	if (is_named(HANDLE(ref), ref) && is_mine(HANDLE(ref)))
		free_later(HANDLE(ref));
	unlock();
	wake_for_pending();
}

/* Record that a memory context of the owner will drop the handle. */
void
GpuAttachHandle(const GpuRef *ref)
{
	lock(LW_EXCLUSIVE);
	if (is_named(HANDLE(ref), ref) && is_mine(HANDLE(ref)))
		HANDLE(ref)->attached = true;
	unlock();
}

static void
give_to(GpuHandle *handle, const PGPROC *proc)
{
	disown(handle);
	handle->proc = ProcessNumber(proc);
	handle->pid = proc->pid;
	handle->attached = false;
	pg_atomic_fetch_add_u32(&gpu_shared->handle_count[handle->proc], 1);
}

/* The process that combines the partial states of this process. */
static const PGPROC *
combiner(void)
{
	return MyProc->lockGroupLeader ? MyProc->lockGroupLeader : MyProc;
}

/*
 * Transfer a handle to the process that redeems its token.  Until the token is redeemed, the leader
 * owns the handle, because leaders outlive their workers.
 */
void
GpuTransferHandle(const GpuRef *ref, const TokenNumber *token, const GpuShape *shape)
{
	GpuHandle *handle = HANDLE(ref);

	lock(LW_EXCLUSIVE);
	if (is_named(handle, ref) && is_mine(handle))
	{
		if (combiner() != MyProc)
			handle->subid = InvalidSubTransactionId;
		give_to(handle, combiner());
		handle->in_transfer = true;
		handle->token = *token;
		handle->shape = *shape;
	}
	unlock();
}

/* True if a handle was transferred to this backend, or to the leader of this parallel worker. */
static bool
is_in_transfer(const GpuHandle *handle)
{
	return is_owned(handle) && handle->in_transfer && handle->proc == ProcessNumber(combiner());
}

/*
 * Receive the handle of a token.  The handle was transferred to this backend, or to the leader of
 * this parallel worker.  False: no such handle.
 */
bool
GpuReceiveHandle(GpuFamily family, const TokenNumber *token, GpuRef *ref, GpuShape *shape)
{
	bool found = false;
	int i;

	lock(LW_EXCLUSIVE);
	for (i = 0; i < GPU_HANDLES && !found; i++)
	{
		GpuHandle *handle = &gpu_shared->handle[i];

		if (!is_in_transfer(handle) || handle->family != family ||
			memcmp(&handle->token, token, sizeof(*token)) != 0)
			continue;
		found = true;
		*ref = GpuRefOf(handle);
		*shape = handle->shape;
		give_to(handle, MyProc);
		handle->subid = GetCurrentSubTransactionId();
	}
	unlock();
	return found;
}

static bool
owns_none(void)
{
	return gpu_shared == NULL || MyProc == NULL ||
		   ProcessNumber(MyProc) >= gpu_shared->proc_count ||
		   pg_atomic_read_u32(&gpu_shared->handle_count[ProcessNumber(MyProc)]) == 0;
}

/*
 * Drop handles of this backend.  At the end of a transaction, drop all handles.  After the rollback
 * of a subtransaction, drop the subtransaction's handles that are not attached to memory, and all
 * handles from parallel workers that were not received.  Up to PostgreSQL 16, these workers belong
 * to a query within the subtransaction, because no subtransaction can start during a parallel
 * query.  From PostgreSQL 17 on, a subtransaction of the leader can start during a parallel query.
 * Its rollback then drops handles that the query has not received yet.
 *
 * An attached handle is dropped with its memory.  This memory may belong to a cursor that is older
 * than the subtransaction.  So the parent receives the attached handles.
 */
void
GpuDropHandles(SubTransactionId subid, SubTransactionId parent)
{
	bool all = subid == InvalidSubTransactionId;
	int i;

	if (owns_none())
		return;
	lock(LW_EXCLUSIVE);
	for (i = 0; i < GPU_HANDLES; i++)
	{
		GpuHandle *handle = &gpu_shared->handle[i];

		if (!is_mine(handle) ||
			(!all && handle->subid != subid && handle->subid != InvalidSubTransactionId))
			continue;
		if (handle->attached && !all)
			handle->subid = parent;
		else
			free_later(handle);
	}
	unlock();
	wake_for_pending();
}

/* When a subtransaction commits, assign its handles to its parent. */
void
GpuRaiseSubHandles(SubTransactionId from, SubTransactionId to)
{
	int i;

	if (owns_none())
		return;
	lock(LW_EXCLUSIVE);
	for (i = 0; i < GPU_HANDLES; i++)
		if (is_mine(&gpu_shared->handle[i]) && gpu_shared->handle[i].subid == from)
			gpu_shared->handle[i].subid = to;
	unlock();
}

/*
 * For the worker: list handles that are pending free, that no request names, and whose values are
 * not on busy devices.
 */
int
GpuTakePending(int *index, int room, uint32 busy)
{
	int count = 0;
	int i;

	lock(LW_SHARED);
	for (i = 0; i < GPU_HANDLES && count < room; i++)
		if (gpu_shared->handle[i].state == HANDLE_PENDING_FREE &&
			!(gpu_shared->handle[i].device >= 0 && (busy >> gpu_shared->handle[i].device & 1)) &&
			pg_atomic_read_u32(&gpu_shared->handle[i].pending) == 0)
			index[count++] = i;
	unlock();
	return count;
}

/* For the worker: note that the value of a handle pending free was freed. */
void
GpuHandleFreed(int index)
{
	lock(LW_EXCLUSIVE);
	Assert(gpu_shared->handle[index].state == HANDLE_PENDING_FREE);
	gpu_shared->handle[index].state = HANDLE_UNUSED;
	gpu_shared->handle[index].bytes = 0;
	pg_atomic_fetch_sub_u32(&gpu_shared->pending_frees, 1);
	unlock();
}

/*
 * For the worker: mark a live handle lost, because its value is incomplete or on a failed device.
 * Returns whether the handle was live.
 */
bool
GpuLoseHandle(const GpuRef *ref)
{
	bool live;

	lock(LW_EXCLUSIVE);
	live = is_named(HANDLE(ref), ref) && HANDLE(ref)->state == HANDLE_LIVE;
	if (live)
		HANDLE(ref)->state = HANDLE_LOST;
	unlock();
	return live;
}

/* For the worker: reset the table after all values were lost. */
void
GpuResetHandles(void)
{
	int i;

	lock(LW_EXCLUSIVE);
	for (i = 0; i < GPU_HANDLES; i++)
	{
		GpuHandle *handle = &gpu_shared->handle[i];

		handle->bytes = 0;
		if (handle->state == HANDLE_LIVE)
			handle->state = HANDLE_LOST;
		else if (handle->state != HANDLE_LOST)
			handle->state = HANDLE_UNUSED;
	}
	pg_atomic_write_u32(&gpu_shared->pending_frees, 0);
	memset(gpu_shared->pushed_out, 0, sizeof(gpu_shared->pushed_out));
	memset(gpu_shared->named, 0, sizeof(gpu_shared->named));
	for (i = 0; i < lengthof(gpu_shared->cache_usage); i++)
	{
		pg_atomic_write_u32(&gpu_shared->cache_usage[i].count, 0);
		pg_atomic_write_u64(&gpu_shared->cache_usage[i].bytes, 0);
	}
	unlock();
}

/* ---- cached values and chunks of cached columns ---- */

void
GpuShowChunk(int index, const GpuChunkState *chunk_state)
{
	GpuChunkState *there = &gpu_shared->handle[index].chunk_state;

	if (there->first == chunk_state->first && there->map_lsn == chunk_state->map_lsn &&
		there->keys == chunk_state->keys)
		return;
	lock(LW_EXCLUSIVE);
	*there = *chunk_state;
	unlock();
}

void
GpuReadChunkStates(const GpuRef *ref, uint32 count, GpuChunkState *chunk_state)
{
	uint32 i;

	lock(LW_SHARED);
	for (i = 0; i < count; i++)
	{
		const GpuHandle *handle = HANDLE(&ref[i]);
		bool there =
			ref[i].serial != 0 && is_named(handle, &ref[i]) && handle->state == HANDLE_CACHED;

		chunk_state[i] = there ? handle->chunk_state : (GpuChunkState){ .first = 0 };
	}
	unlock();
}

static bool
is_column(const GpuHandle *handle)
{
	return handle->family == GPU_FAMILY_COLUMN;
}

static void
count_cached(const GpuHandle *handle, int n)
{
	GpuCacheUsage *cache_usage = &gpu_shared->cache_usage[is_column(handle)];

	pg_atomic_fetch_add_u64(&cache_usage->bytes, n * (int64) handle->bytes);
	pg_atomic_fetch_add_u32(&cache_usage->count, n);
}

/* Remove the name of a cached handle, and mark the handle pending free. */
static void
forget(GpuHandle *handle)
{
	count_cached(handle, -1);
	GpuRemoveName(handle);
	become_pending_free(handle);
}

/* ---- eviction ---- */

/* An eviction: the evictable handles, and the role that needs memory. */
typedef struct Push
{
	bool column;    /* true: a chunk of a column; false: a value */
	int device;     /* evict from this device; -1: from any device */
	bool number;    /* true: quotas count handles; false: bytes */
	bool role_only; /* only handles of "role" may be evicted */
	Oid role;       /* the role that needs memory */
} Push;

/* The evictable handles of one role. */
typedef struct Quota
{
	Oid role;
	uint64 amount;
	GpuHandle *oldest;
} Quota;

static void
add_to_quota(Quota *quota, int *count, GpuHandle *handle, uint64 amount)
{
	int i;

	for (i = 0; i < *count && quota[i].role != handle->role; i++)
		;
	if (i == *count)
		quota[(*count)++] = (Quota){ .role = handle->role, .oldest = handle };
	quota[i].amount += amount;
	if (pg_atomic_read_u64(&handle->used) < pg_atomic_read_u64(&quota[i].oldest->used))
		quota[i].oldest = handle;
}

/* Sum up the evictable handles by role.  Returns the number of roles. */
static int
find_quotas(const Push *push, Quota *quota, uint64 *all)
{
	int count = 0;
	int i;

	*all = 0;
	for (i = 0; i < GPU_HANDLES; i++)
	{
		GpuHandle *handle = &gpu_shared->handle[i];
		uint64 amount = push->number ? 1 : handle->bytes;

		if (handle->state != HANDLE_CACHED || is_column(handle) != push->column ||
			(push->device >= 0 && handle->device != push->device))
			continue;
		add_to_quota(quota, &count, handle, amount);
		*all += amount;
	}
	return count;
}

/* The handle to be evicted; NULL: no handle may be evicted. */
static GpuHandle *
choose(const Push *push)
{
	static Quota quota[GPU_HANDLES];
	uint64 all;
	int count = find_quotas(push, quota, &all);
	const Quota *most = NULL;
	int i;

	for (i = 0; i < count; i++)
	{
		if (quota[i].role == push->role && (push->role_only || quota[i].amount * count >= all))
			return quota[i].oldest;
		if (most == NULL || quota[i].amount > most->amount)
			most = &quota[i];
	}
	return most && !push->role_only ? most->oldest : NULL;
}

static bool
is_same_column(const StoredName *a, const StoredName *b)
{
	return a->kind == b->kind && memcmp(a->header, b->header, sizeof(a->header)) == 0;
}

/*
 * Find the record of a column.  If the column has no record, return the entry for a new record: an
 * unused entry, or else the entry with the oldest record.
 */
static GpuPushedOut *
find_pushed_out(const StoredName *column)
{
	GpuPushedOut *found = gpu_shared->pushed_out;
	int i;

	for (i = 0; i < GPU_PUSHED_OUT_MAX; i++)
	{
		GpuPushedOut *out = &gpu_shared->pushed_out[i];

		if (out->chunks > 0 && is_same_column(&out->column, column))
			return out;
		if (out->when < found->when)
			found = out;
	}
	return found;
}

/*
 * Record that a chunk of a column was evicted for "role".  If a role evicts its own chunk, no
 * record of another role is overwritten.
 */
static void
note_pushed_out(const GpuHandle *handle, Oid role)
{
	GpuPushedOut *out = find_pushed_out(&handle->key);

	if (!is_same_column(&out->column, &handle->key))
	{
		if (handle->role == role && out->chunks > 0 && out->from != role)
			return;
		*out = (GpuPushedOut){ .column = handle->key, .from = handle->role };
	}
	out->chunks++;
	out->role = role;
	out->when = (uint64) GetCurrentTimestamp();
}

static bool
push_out(const Push *push)
{
	GpuHandle *handle = choose(push);

	if (handle == NULL)
		return false;
	if (push->column)
		note_pushed_out(handle, push->role);
	GpuCount(push->column ? COUNT_COLUMNS_OUT : COUNT_VALUES_OUT, 1);
	forget(handle);
	return true;
}

/*
 * If "column" is set, true if the columns exceed their limit; else true if all cached handles
 * exceed the limit of the cache.  If "number" is set, the limit of handles is checked, else the
 * limit of bytes.  The caller checks columns before values.
 */
static bool
are_too_many(bool column, bool number)
{
	uint64 limit = number ? GPU_CACHED_MAX : (uint64) gpu_cache_size << 20;
	uint64 have[2];
	int i;

	for (i = 0; i < 2; i++)
		have[i] = number ? pg_atomic_read_u32(&gpu_shared->cache_usage[i].count)
						 : pg_atomic_read_u64(&gpu_shared->cache_usage[i].bytes);
	return column ? have[true] > GPU_COLUMNS_OF(limit) : have[false] + have[true] > limit;
}

/*
 * Evict handles until the cache is within its limits.  "role" is the role that has added a handle;
 * or invalid.
 */
static void
trim(Oid role)
{
	int i;

	for (i = 0; i < 4; i++)
	{
		Push push = { .column = i < 2, .number = i % 2, .device = -1, .role = role };

		while (are_too_many(push.column, push.number) && push_out(&push))
			;
	}
}

/* For the worker: apply changed limits. */
void
GpuTrimCache(void)
{
	lock(LW_EXCLUSIVE);
	trim(InvalidOid);
	unlock();
}

/*
 * For the worker: evict a cached handle from a device, for a role that needs memory; false: no
 * handle may be evicted.
 */
bool
GpuEvict(int device, bool column, Oid role, bool role_only)
{
	Push push = { .column = column, .device = device, .role_only = role_only, .role = role };
	bool found;

	lock(LW_EXCLUSIVE);
	found = push_out(&push);
	unlock();
	return found;
}

/*
 * List the columns that have evicted chunks, at most GPU_PUSHED_OUT_MAX.  Returns the number of
 * listed columns.
 */
int
GpuListPushedOut(GpuPushedOut *list)
{
	int count = 0;
	int i;

	lock(LW_SHARED);
	for (i = 0; i < GPU_PUSHED_OUT_MAX; i++)
		if (gpu_shared->pushed_out[i].chunks > 0)
			list[count++] = gpu_shared->pushed_out[i];
	unlock();
	return count;
}

/* Remove the record of a column that is loaded again, or no longer needed. */
void
GpuForgetPushedOut(const StoredName *column)
{
	GpuPushedOut *out;

	lock(LW_EXCLUSIVE);
	out = find_pushed_out(column);
	if (is_same_column(&out->column, column))
		memset(out, 0, sizeof(*out));
	unlock();
}

/* ---- publishing and removing names ---- */

/* Note the time of the use of a cached handle. */
void
GpuHandleUsed(int index)
{
	GpuHandle *handle = &gpu_shared->handle[index];

	pg_atomic_write_u64(&handle->used, pg_atomic_add_fetch_u64(&gpu_shared->clock, 1));
	pg_atomic_write_u64(&handle->used_at, (uint64) GetCurrentTimestamp());
}

/* Turn a loaded value into a cached value, which all backends find by its name. */
void
GpuPublishHandle(const GpuRef *ref, const StoredName *key)
{
	GpuHandle *handle = HANDLE(ref);

	lock(LW_EXCLUSIVE);
	if (is_named(handle, ref) && is_mine(handle) && handle->state == HANDLE_LIVE)
	{
		disown(handle);
		handle->state = HANDLE_CACHED;
		handle->key = *key;
		GpuAddName(handle);
		GpuHandleUsed(ref->index);
		count_cached(handle, 1);
		trim(handle->role);
	}
	unlock();
	wake_for_pending();
}

/*
 * Remove the name of a cached handle, and mark the handle pending free; false: the handle is gone.
 */
bool
GpuForgetCached(const GpuRef *ref)
{
	bool found;

	lock(LW_EXCLUSIVE);
	found = HANDLE(ref)->state == HANDLE_CACHED && is_named(HANDLE(ref), ref);
	if (found)
		forget(HANDLE(ref));
	unlock();
	wake_for_pending();
	return found;
}
