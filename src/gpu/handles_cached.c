/*
 * handles_cached.c
 *		The table of values in the worker's hands: cached values and chunks of cached columns.
 *
 * They belong to nobody, and are found by name.  See shared.h for the states.
 *
 * Columns have at most 7/8 of the cache, in number and in bytes.  Values have
 * the rest, and what columns leave.  Beyond that goes what was not used for the
 * longest time: of the role that needs the room, if it has a fair quota or
 * more, or else of the role that has most.  Roles have equal quotas of what
 * there is.
 *
 * src/gpu/handles_cached.c
 */
#include "gpu/handles.h"
#include "gpu/settings.h"

#include "utils/timestamp.h"

static bool
is_column(const GpuHandle *handle)
{
	return handle->family == GPU_FAMILY_COLUMN;
}

static void
count_cached(const GpuHandle *handle, int n)
{
	GpuCopies *copies = &gpu_shared->copies[is_column(handle)];

	pg_atomic_fetch_add_u64(&copies->bytes, n * (int64) handle->bytes);
	pg_atomic_fetch_add_u32(&copies->count, n);
}

/* A cached handle that nobody shall find any more. */
static void
forget(GpuHandle *handle)
{
	count_cached(handle, -1);
	handle->state = HANDLE_PENDING_FREE;
	pg_atomic_fetch_add_u32(&gpu_shared->pending_frees, 1);
}

/* ---- what is pushed out ---- */

/* What is to go, and for whom. */
typedef struct Push
{
	bool column; /* a chunk of a column, or a value */
	int device;  /* from this device; -1: from any */
	bool number; /* quotas are compared by the number of handles, or by bytes */
	bool own;    /* what other roles have stays */
	Oid role;    /* that needs the room */
} Push;

/* What a role has. */
typedef struct Quota
{
	Oid role;
	uint64 amount;
	GpuHandle *oldest;
} Quota;

static void
add_to_share(Quota *quota, int *count, GpuHandle *handle, uint64 amount)
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

/* The quotas of all roles in what may go; their number. */
static int
find_shares(const Push *push, Quota *quota, uint64 *all)
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
		add_to_share(quota, &count, handle, amount);
		*all += amount;
	}
	return count;
}

/* The handle that is to go, or NULL. */
static GpuHandle *
choose(const Push *push)
{
	static Quota quota[GPU_HANDLES];
	uint64 all;
	int count = find_shares(push, quota, &all);
	const Quota *most = NULL;
	int i;

	for (i = 0; i < count; i++)
	{
		if (quota[i].role == push->role && (push->own || quota[i].amount * count >= all))
			return quota[i].oldest;
		if (most == NULL || quota[i].amount > most->amount)
			most = &quota[i];
	}
	return most && !push->own ? most->oldest : NULL;
}

static bool
is_same_column(const StoredName *a, const StoredName *b)
{
	return a->kind == b->kind && memcmp(a->header, b->header, sizeof(a->header)) == 0;
}

/* The note of a column, or the one that it may take: unused, or the oldest. */
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
 * Note for the owner of a table that a chunk of a column goes.  For a chunk that goes for
 * others of its own role, no note of another role is given up.
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
 * Are there more cached handles of a kind than may be?  Columns have been looked at before
 * values.
 */
static bool
are_too_many(bool column, bool number)
{
	uint64 limit = number ? GPU_CACHED_MAX : (uint64) gpu_cache_size << 20;
	uint64 have[2];
	int i;

	for (i = 0; i < 2; i++)
		have[i] = number ? pg_atomic_read_u32(&gpu_shared->copies[i].count)
						 : pg_atomic_read_u64(&gpu_shared->copies[i].bytes);
	return column ? have[true] > GPU_COLUMNS_OF(limit) : have[false] + have[true] > limit;
}

static void
trim(bool column, Oid role)
{
	Push push = { .column = column, .device = -1, .role = role };
	int number;

	for (number = 0; number < 2; number++)
	{
		push.number = number;
		while (are_too_many(column, number) && push_out(&push))
			;
	}
}

/* Keep the cache within its limits, after a role has added to it. */
static void
trim_all(Oid role)
{
	trim(true, role);
	trim(false, role);
}

/* For the worker: the limits have changed. */
void
GpuTrimCache(void)
{
	GpuLockHandles(LW_EXCLUSIVE);
	trim_all(InvalidOid);
	GpuUnlockHandles();
}

/*
 * For the worker: push a cached handle off a device, for a role that needs the room; false: there
 * is none.
 */
bool
GpuEvict(int device, bool column, Oid role, bool own)
{
	Push push = { .column = column, .device = device, .own = own, .role = role };
	bool found;

	GpuLockHandles(LW_EXCLUSIVE);
	found = push_out(&push);
	GpuUnlockHandles();
	return found;
}

/* The columns of which chunks were pushed out; room for GPU_PUSHED_OUT_MAX.  Their number. */
int
GpuListPushedOut(GpuPushedOut *list)
{
	int count = 0;
	int i;

	GpuLockHandles(LW_SHARED);
	for (i = 0; i < GPU_PUSHED_OUT_MAX; i++)
		if (gpu_shared->pushed_out[i].chunks > 0)
			list[count++] = gpu_shared->pushed_out[i];
	GpuUnlockHandles();
	return count;
}

/* A column is loaded again, or not wanted any more. */
void
GpuForgetPushedOut(const StoredName *column)
{
	GpuPushedOut *out;

	GpuLockHandles(LW_EXCLUSIVE);
	out = find_pushed_out(column);
	if (is_same_column(&out->column, column))
		memset(out, 0, sizeof(*out));
	GpuUnlockHandles();
}

/* ---- finding, publishing, forgetting ---- */

/* The cached value or chunk of this name on a device, if there is one; "device" may be NULL. */
bool
GpuFindCached(const StoredName *key, GpuRef *ref, int *device)
{
	bool found = false;
	int i;

	GpuLockHandles(LW_SHARED);
	for (i = 0; i < GPU_HANDLES && !found; i++)
	{
		GpuHandle *handle = &gpu_shared->handle[i];

		if (handle->state != HANDLE_CACHED || memcmp(&handle->key, key, sizeof(*key)) != 0)
			continue;
		found = true;
		ref->family = handle->family;
		ref->serial = handle->serial;
		ref->index = i;
		if (device)
			*device = handle->device;
		pg_atomic_write_u64(&handle->used, pg_atomic_add_fetch_u64(&gpu_shared->clock, 1));
	}
	GpuUnlockHandles();
	return found;
}

/* Leave a loaded value to all backends that look up the same value. */
void
GpuPublishHandle(const GpuRef *ref, const StoredName *key)
{
	GpuHandle *handle = GPU_HANDLE(ref);

	GpuLockHandles(LW_EXCLUSIVE);
	if (GpuIsNamed(handle, ref) && GpuIsMine(handle) && handle->state == HANDLE_LIVE)
	{
		GpuDisown(handle);
		handle->state = HANDLE_CACHED;
		handle->key = *key;
		pg_atomic_write_u64(&handle->used, pg_atomic_add_fetch_u64(&gpu_shared->clock, 1));
		pg_atomic_write_u64(&handle->used_at, (uint64) GetCurrentTimestamp());
		count_cached(handle, 1);
		trim_all(handle->role);
	}
	GpuUnlockHandles();
	GpuWakeForPending();
}

/* Call a function with each cached handle of a family.  It must be short, and may not fail. */
void
GpuEachCached(GpuFamily family, void (*visit)(GpuHandle *handle, void *context), void *context)
{
	int i;

	GpuLockHandles(LW_SHARED);
	for (i = 0; i < GPU_HANDLES; i++)
	{
		GpuHandle *handle = &gpu_shared->handle[i];

		if (handle->state == HANDLE_CACHED && handle->family == family)
			visit(handle, context);
	}
	GpuUnlockHandles();
}

/* Let nobody find a cached handle any more; false if it is gone already. */
bool
GpuForgetCached(const GpuRef *ref)
{
	bool found;

	GpuLockHandles(LW_EXCLUSIVE);
	found = GPU_HANDLE(ref)->state == HANDLE_CACHED && GpuIsNamed(GPU_HANDLE(ref), ref);
	if (found)
		forget(GPU_HANDLE(ref));
	GpuUnlockHandles();
	GpuWakeForPending();
	return found;
}

/* For the worker: a cached handle is used now. */
void
GpuHandleUsed(int index)
{
	GpuHandle *handle = &gpu_shared->handle[index];

	pg_atomic_write_u64(&handle->used, pg_atomic_add_fetch_u64(&gpu_shared->clock, 1));
	pg_atomic_write_u64(&handle->used_at, (uint64) GetCurrentTimestamp());
}
