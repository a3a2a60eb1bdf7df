/*
 * sketch_engine.c
 *		The GPU engine of sketches: moves the state of an aggregate to a device.
 *
 * A new sketch is in the backend's memory, in explicit encoding.  It becomes dense on a device if
 * it has too many keys for this encoding and is large enough for the GPU to pay.  The backend sends
 * the entries and all further keys to the device, and then knows only the total.  A sketch that
 * became dense in the backend may move later, with its tables.  A function that reads the sketch
 * first materializes it: the tables are fetched, and the sketch is in the backend again.  Sketches
 * of structure sf stay on the CPU, because their fat tables are designed for the CPU's memory.
 *
 * src/gpu/sketch_engine.c
 */
#include "gpu/sketch_gpu.h"
#include "sketch/explicit.h"

#include "utils/memutils.h"

/* Bytes of the tables that the keys of a sketch touch. */
static uint64
touched_bytes(const qs_params *p)
{
	return qs_block_bytes(p) * p->n;
}

bool
GpuSketchOnlyOnCpu(const qs_params *p)
{
	return qs_has_fat(p->structure);
}

const char *
GpuSketchReason(const qs_params *p, const StateWork *work)
{
	const char *reason = GpuReason();

	if (device_setting != DEVICE_CPU && GpuSketchOnlyOnCpu(p))
		return "sketches of structure sf are made on the CPU";
	if (reason || device_setting == DEVICE_GPU)
		return reason;
	if (!GpuFillsFaster(touched_bytes(p), work))
		return GpuSmallReason("sketch", touched_bytes(p), work);
	if (GpuHasKeys(touched_bytes(p), work) || work->rows <= 0)
		return NULL;
	return GpuFewReason("sketch", touched_bytes(p), work);
}

bool
GpuSketchWantsLookup(const qs_sketch *sk, size_t count)
{
	return sk->encoding != QS_EXPLICIT && qs_has_table(&sk->params) && GpuMayLookup(count) &&
		   GpuIsLarge(touched_bytes(&sk->params));
}

/*
 * ---- sketches of backends whose tables are on a device ----
 *
 * "remote" points to a GpuRemote in the sketch's memory context.  The device's sketch is dropped
 * when that context is reset or deleted.
 *
 * Sketches of groups are read one after another, and are chained in this order.  While one sketch
 * is fetched, the worker prepares the tables of the next sketch, and sends their shape.  The tables
 * themselves are not fetched in advance.  If they are fetched later, they can use the memory that
 * the previous sketch has freed.  Copying to new memory would take longer.
 */

static GpuRemote *
remote_of(const qs_sketch *sk)
{
	return sk->remote;
}

static void
unchain(GpuRemote *remote)
{
	if (remote->before)
		remote->before->next = remote->next;
	if (remote->next)
		remote->next->before = remote->before;
	remote->before = remote->next = NULL;
}

static void
end_remote(GpuScopedHandle *handle)
{
	GpuRemote *remote = (GpuRemote *) handle;

	unchain(remote);
	if (remote->in_transfer)
		handle->ref.serial = 0;
}

/* Mark a sketch remote: its tables are on a device. */
void
GpuSketchBecomeRemote(qs_sketch *sk, const GpuRef *ref)
{
	GpuRemote *remote = MemoryContextAllocZero(sk->memory->context, sizeof(GpuRemote));

	remote->handle.end = end_remote;
	GpuScopeHandle(&remote->handle, ref, sk->memory->context);
	qs_free(sk);
	sk->encoding = QS_DENSE;
	sk->remote = remote;
}

/*
 * Chain sketches in the order in which they will be read, so that the worker can prepare the next
 * sketch.
 */
static void
chain(qs_sketch **sk, uint32 count)
{
	GpuRemote *last = NULL;
	uint32 i;

	for (i = 0; i < count; i++)
	{
		GpuRemote *remote = remote_of(sk[i]);

		if (remote == NULL)
			continue;
		unchain(remote);
		remote->before = last;
		if (last)
			last->next = remote;
		last = remote;
	}
}

/* Raise an error if the total from the worker differs from the total of the sent keys. */
static void
check_fetched_total(const qs_sketch *sk, int64 total)
{
	if (total != sk->total)
		elog(ERROR, "sketch on the GPU has total " INT64_FORMAT ", not " INT64_FORMAT, total,
			 (int64) sk->total);
}

/* Fetch the tables of a sketch, if they are on a device. */
static qb_status
materialize(qs_sketch *sk)
{
	qs_sketch here;
	qb_status status;

	if (sk->remote == NULL)
		return QB_OK;
	if (remote_of(sk)->merging)
		elog(ERROR, "a merge of the sketch on the GPU was broken off");
	qs_init(&here, &sk->params, sk->memory);
	here.keys = sk->keys;
	status = GpuSketchFetch(sk, &here);
	if (status != QB_OK)
		return status;
	check_fetched_total(sk, here.total);
	GpuDropScopedHandle(&remote_of(sk)->handle);
	*sk = here;
	return QB_OK;
}

/* ---- the engine ---- */

/*
 * The time when a sketch moves to a device.  The choice is made when the sketch is created.  Each
 * choice has its own engine.  Even MOVES_NEVER needs a GPU engine, because merging and cached
 * columns may still move a sketch to a device.
 */
typedef enum Moves
{
	MOVES_NEVER, /* never: the CPU fills the sketch faster, or the structure is sf */
	MOVES_LATE,  /* when it has enough keys: the plan expects too few keys, or has no estimate */
	MOVES_DENSE  /* when it becomes dense: enough keys are expected */
} Moves;

/* True if a sketch with this total has enough keys to move to a device. */
static bool
is_worth_moving(const qs_params *p, int64 total, Moves moves)
{
	return moves == MOVES_DENSE || (double) total >= GpuKeysLeast(touched_bytes(p));
}

/*
 * Send all entries of an explicit sketch.  The entries are copied to local arrays, because the
 * current memory context may be unable to free memory.  An example is the context of a sort's
 * tuples, from PostgreSQL 17 on.
 */
static void
send_entries(const GpuRef *ref, const qs_sketch *sk)
{
	uint64 key[QS_EXPLICIT_MAX];
	int64 count[QS_EXPLICIT_MAX];
	uint64_t position = 0;
	size_t n = 0;
	qs_entry e;

	while (n < QS_EXPLICIT_MAX && qs_explicit_next(sk, &position, &e))
	{
		key[n] = e.fingerprint;
		count[n++] = e.count;
	}
	GpuPostKeys(ref, SKETCH_INSERT, key, count, n);
}

/* If "created" is set, move an explicit sketch to the new sketch "ref" on a device. */
static bool
become_dense(qs_sketch *sk, const GpuRef *ref, bool created)
{
	if (!created)
	{
		GpuCount(COUNT_FALLBACKS, 1);
		return false;
	}
	send_entries(ref, sk);
	GpuSketchBecomeRemote(sk, ref);
	return true;
}

/*
 * Make an explicit sketch dense on this device (-1: on any); false: no memory or no handle is free.
 */
static bool
move_explicit(qs_sketch *sk, int device)
{
	GpuRef ref;
	bool created;

	GpuSketchCreateAll(&sk->params, device, 1, &ref, &created);
	return become_dense(sk, &ref, created);
}

/*
 * Move each sketch i with moves[i] to a device.  The sketches are explicit, have the same
 * parameters, and become dense on the device.  moves[i] is cleared if no memory or no handle is
 * free for sketch i.
 */
static void
move_all(qs_sketch **sk, uint32 count, int device, bool *moves)
{
	GpuRef *ref = palloc(count * sizeof(GpuRef));
	bool *created = palloc(count * sizeof(bool));
	uint32 *index = palloc(count * sizeof(uint32));
	uint32 wanted = 0;
	uint32 i;

	for (i = 0; i < count; i++)
		if (moves[i])
			index[wanted++] = i;
	GpuSketchCreateAll(&sk[0]->params, device, wanted, ref, created);
	for (i = 0; i < wanted; i++)
		moves[index[i]] = become_dense(sk[index[i]], &ref[i], created[i]);
	pfree(index);
	pfree(created);
	pfree(ref);
}

/* Move a dense sketch to a device; false: no handle is free, or the device has no memory. */
static bool
move_dense(qs_sketch *sk)
{
	GpuRef ref;

	if (!GpuSketchUpload(sk, -1, &ref))
	{
		GpuCount(COUNT_FALLBACKS, 1);
		return false;
	}
	GpuSketchBecomeRemote(sk, &ref);
	return true;
}

/*
 * Insert the keys that do not fit into the explicit encoding.  The total already includes these
 * keys.
 */
static qb_status
insert_rest(qs_sketch *sk, int device, const uint64_t *fingerprint, const int64_t *weight,
			size_t count)
{
	if (move_explicit(sk, device))
	{
		GpuPostKeys(&remote_of(sk)->handle.ref, SKETCH_INSERT, fingerprint, weight, count);
		return QB_OK;
	}
	sk->total -= qs_weight_sum(weight, count);
	return qs_engine_cpu.insert(sk, fingerprint, weight, count);
}

/* Insert keys into an explicit sketch, which moves to a device when it becomes dense. */
static qb_status
insert_explicit(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	size_t done;

	if (qs_explicit_add(sk, fingerprint, weight, count, &done) != QB_OK)
		return QB_NO_MEMORY;
	if (done == count)
		return QB_OK;
	return insert_rest(sk, -1, fingerprint + done, weight ? weight + done : NULL, count - done);
}

static qb_status
check_total(const qs_sketch *sk, int64_t sum)
{
	if (sum < 0 || sum > INT64_MAX - sk->total)
		return QB_TOTAL_OVERFLOW;
	return qs_writable(sk);
}

/*
 * True if the device has no memory for a sketch to grow.  The sketch must then be materialized
 * before keys are added.
 */
static bool
cannot_grow(const qs_sketch *sk)
{
	return gpu_shared->handle[remote_of(sk)->handle.ref.index].full;
}

/*
 * True if these keys may move a sketch to a device.  An explicit sketch moves later, when it
 * becomes dense.  A dense sketch moves now, with the first batch for which moving pays.
 */
static bool
moves_with(qs_sketch *sk, int64 sum, Moves moves)
{
	if (moves == MOVES_NEVER || GpuReason() ||
		!is_worth_moving(&sk->params, sk->total + sum, moves))
		return false;
	return sk->encoding == QS_EXPLICIT ||
		   (!is_worth_moving(&sk->params, sk->total, moves) && move_dense(sk));
}

/* Add keys to a sketch, on a device or in this process.  The sketch may move to a device. */
static qb_status
insert(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count, Moves moves)
{
	int64_t sum = qs_weight_sum(weight, count);
	qb_status status = QB_OK;

	if (sk->remote && cannot_grow(sk))
		status = materialize(sk);
	if (status != QB_OK)
		return status;
	status = check_total(sk, sum);
	if (status != QB_OK)
		return status;
	if (!sk->remote && !moves_with(sk, sum, moves))
		return qs_engine_cpu.insert(sk, fingerprint, weight, count);
	sk->total += sum;
	if (!sk->remote)
		return insert_explicit(sk, fingerprint, weight, count);
	GpuPostKeys(&remote_of(sk)->handle.ref, SKETCH_INSERT, fingerprint, weight, count);
	return QB_OK;
}

static qb_status
gpu_remove(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	qb_status status = materialize(sk);

	return status == QB_OK ? qs_engine_cpu.remove(sk, fingerprint, weight, count) : status;
}

/* Merge the facts that are known without the tables: totals and kind of keys. */
static void
merge_state(qs_sketch *into, const qs_sketch *from)
{
	into->total += from->total;
	qb_keys_take(&into->keys, &from->keys);
}

/*
 * Merge a sketch, except the units that "merged" counts, into a sketch that stays in this process.
 * "from" may be remote.
 */
static qb_status
merge_here(qs_sketch *into, const qs_sketch *from, const GpuSketchMerged *merged)
{
	qs_sketch copy;
	qb_status status;

	if (from->remote == NULL)
		return GpuSketchMergeRest(into, from, merged);
	qs_init(&copy, &from->params, into->memory);
	copy.keys = from->keys;
	status = GpuSketchFetch(from, &copy);
	if (status == QB_OK)
		status = GpuSketchMergeRest(into, &copy, merged);
	qs_free(&copy);
	return status;
}

/*
 * Merge a sketch into a remote sketch.  "there" is the handle of "from" in the worker.  If the
 * device has no memory, "into" is fetched, and this process merges the remaining units of "from".
 */
static qb_status
merge_there(qs_sketch *into, const qs_sketch *from, const GpuRef *there)
{
	GpuRemote *remote = remote_of(into);
	GpuSketchMerged merged;
	qb_status status;

	remote->merging = true;
	status = GpuSketchMergeInto(&remote->handle.ref, there, &merged);
	remote->merging = status != QB_OK && status != QB_NO_MEMORY;
	if (status == QB_OK || merged.begun)
		merge_state(into, from);
	if (status != QB_NO_MEMORY)
		return status;
	status = materialize(into);
	return status == QB_OK ? merge_here(into, from, &merged) : status;
}

/*
 * Merge a dense or compact sketch of this process into a remote sketch; false: no memory or no
 * handle is free.  A device accepts only tables, so a compact sketch is first converted to tables.
 */
static bool
merge_uploaded(qs_sketch *into, const qs_sketch *from, qb_status *status)
{
	qs_sketch tables;
	GpuRef ref;

	if (from->encoding == QS_COMPACT)
	{
		bool done = qs_copy(&tables, from, into->memory) == QB_OK;

		if (done)
		{
			done = merge_uploaded(into, &tables, status);
			qs_free(&tables);
		}
		return done;
	}
	if (!GpuSketchUpload(from, -1, &ref))
		return false;
	*status = merge_there(into, from, &ref);
	GpuDropHandle(&ref);
	return true;
}

/*
 * Merge a sketch into a remote sketch; false: the caller must materialize "into", and merge in this
 * process.
 */
static bool
merge_into_remote(qs_sketch *into, const qs_sketch *from, qb_status *status)
{
	*status = QB_OK;
	if (from == into)
		return false;
	if (from->remote)
		*status = merge_there(into, from, &remote_of(from)->handle.ref);
	else if (from->encoding != QS_EXPLICIT)
		return merge_uploaded(into, from, status);
	else
	{
		send_entries(&remote_of(into)->handle.ref, from);
		merge_state(into, from);
	}
	return true;
}

/* Move "into" to a device, if the GPU should do the merge. */
static void
move_for_merge(qs_sketch *into, const qs_sketch *from)
{
	const StateWork one = { .processes = 1 };

	if (into->remote || GpuReason() || GpuSketchOnlyOnCpu(&into->params) ||
		!GpuFillsFaster(touched_bytes(&into->params), &one))
		return;
	if (into->encoding == QS_EXPLICIT && from->remote)
		(void) move_explicit(into, -1);
	else if (into->encoding == QS_DENSE && (from->remote || device_setting == DEVICE_GPU))
		(void) move_dense(into);
}

static qb_status
gpu_merge(qs_sketch *into, const qs_sketch *from)
{
	const GpuSketchMerged nothing = { 0 };
	qb_status status;

	if (!qs_mergeable(into, from))
		return QB_MISMATCH;
	if (from->total > INT64_MAX - into->total)
		return QB_TOTAL_OVERFLOW;
	move_for_merge(into, from);
	if (into->remote && merge_into_remote(into, from, &status))
		return status;
	status = materialize(into);
	return status == QB_OK ? merge_here(into, from, &nothing) : status;
}

static size_t
gpu_batch(const qs_sketch *sk)
{
	return sk->remote ? GPU_SLOT_KEYS : QS_BATCH;
}

static qb_status
insert_here(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	return insert(sk, fingerprint, weight, count, MOVES_NEVER);
}

static qb_status
insert_late(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	return insert(sk, fingerprint, weight, count, MOVES_LATE);
}

static qb_status
insert_there(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	return insert(sk, fingerprint, weight, count, MOVES_DENSE);
}

#define ENGINE(function)                                                                          \
	{                                                                                             \
		.insert = function, .remove = gpu_remove, .merge = gpu_merge, .materialize = materialize, \
		.batch = gpu_batch                                                                        \
	}

static const qs_engine engines[] = {
	[MOVES_NEVER] = ENGINE(insert_here),
	[MOVES_LATE] = ENGINE(insert_late),
	[MOVES_DENSE] = ENGINE(insert_there),
};

static Moves
moves_of(const qs_params *p, const StateWork *work)
{
	if (GpuSketchOnlyOnCpu(p) || !GpuFillsFaster(touched_bytes(p), work))
		return MOVES_NEVER;
	if (device_setting == DEVICE_GPU || GpuHasKeys(touched_bytes(p), work))
		return MOVES_DENSE;
	return MOVES_LATE;
}

const qs_engine *
GpuSketchEngine(const qs_params *p, const StateWork *work)
{
	return GpuIsWanted() ? &engines[moves_of(p, work)] : &qs_engine_cpu;
}

bool
GpuSketchWillMove(const qs_params *p, const StateWork *work)
{
	return moves_of(p, work) == MOVES_DENSE;
}

const qs_engine *
GpuSketchEngineOf(const qs_sketch *sk)
{
	return sk->remote ? &engines[MOVES_DENSE] : &qs_engine_cpu;
}

/*
 * ---- adding keys of cached columns to sketches ----
 *
 * While a sketch is explicit, only its backend knows the number of its distinct keys.  So the
 * worker sends the distinct keys of a chunk, and the backend adds them.  When the sketch has moved
 * to the device, the worker adds the keys on the device.
 */

/* Adding the distinct keys of chunks to an explicit sketch. */
typedef struct Explicit
{
	qs_sketch *sk;
	int most; /* maximum number of distinct keys in explicit encoding */
	qb_status status;
	GpuKeyCounts rest; /* keys that did not fit; if "count" exceeds "most", only "count" is set */
} Explicit;

/*
 * Add keys until the explicit encoding is full.  Must not wait, because further replies are
 * outstanding.
 */
static bool
take_counts(void *context, const GpuKeyCounts *counts)
{
	Explicit *e = context;
	int64 sum;
	size_t done;

	if (counts->count > e->most)
	{
		e->rest.count = counts->count;
		return false;
	}
	sum = qs_weight_sum(counts->times, counts->count);
	e->status = check_total(e->sk, sum);
	if (e->status == QB_OK)
		e->status = qs_explicit_add(e->sk, counts->key, counts->times, counts->count, &done);
	if (e->status != QB_OK)
		return false;
	e->sk->total += sum;
	e->rest.count = counts->count - (int) done;
	memcpy(e->rest.key, counts->key + done, e->rest.count * sizeof(uint64));
	memcpy(e->rest.times, counts->times + done, e->rest.count * sizeof(int64));
	return e->rest.count == 0;
}

/*
 * Add the keys of chunks while the sketch is explicit.  Returns the number of finished chunks.  If
 * no memory is free for a sketch that must become dense, all chunks count as finished, and the
 * caller reads the remaining pages.  Each round requests as many chunks as earlier rounds have
 * finished, at least one and at most GPU_HELD.  This limits the number of waits, and the number of
 * useless requests when the sketch becomes dense.
 */
static int
add_explicit(qs_sketch *sk, const GpuColumnChunk *chunk, int chunks, int64 *count,
			 qb_status *status)
{
	Explicit *e = palloc(sizeof(Explicit));
	int64 before = sk->total;
	int done = 0;

	e->sk = sk;
	e->most = (int) qs_explicit_limit(&sk->params);
	e->status = QB_OK;
	while (e->status == QB_OK && sk->encoding == QS_EXPLICIT && done < chunks)
	{
		int next = Min(Min(Max(done, 1), GPU_HELD), chunks - done);
		int device = GpuColumnDevice(chunk + done);

		e->rest.count = 0;
		(void) GpuColumnCountsAll(chunk + done, next, e->most, take_counts, e);
		if (e->rest.count > e->most)
			next = move_explicit(sk, device) ? 0 : chunks - done;
		else if (e->rest.count > 0)
			e->status = insert_rest(sk, device, e->rest.key, e->rest.times, e->rest.count);
		if (sk->encoding == QS_EXPLICIT)
			done += next;
	}
	*count += sk->total - before;
	*status = e->status;
	pfree(e);
	return done;
}

/*
 * A sketch of any size that becomes dense moves to the device, because the device already has the
 * keys.  If a sketch cannot grow on its device, no keys are added, and the caller reads the pages.
 */
qb_status
GpuSketchAddColumn(qs_sketch *sk, const GpuColumnChunk *chunk, int chunks, int64 *count)
{
	qb_status status = QB_OK;
	int64 added;
	int done = 0;

	if (sk->remote && cannot_grow(sk))
		return QB_OK;
	if (sk->encoding == QS_EXPLICIT)
		done = add_explicit(sk, chunk, chunks, count, &status);
	if (status != QB_OK || done == chunks || (!sk->remote && !move_dense(sk)))
		return status;
	(void) GpuColumnSend(&remote_of(sk)->handle.ref, SKETCH_COLUMN, chunk + done, chunks - done,
						 &added);
	sk->total += added;
	*count += added;
	return QB_OK;
}

void
GpuSketchGetDense(qs_sketch **sk, const qb_groups *groups, const GpuColumnChunk *chunk, bool *dense)
{
	int most = (int) qs_explicit_limit(&sk[0]->params);

	if (!GpuColumnMany(chunk, groups, most, dense))
		memset(dense, 0, groups->count * sizeof(bool));
	move_all(sk, groups->count, GpuColumnDevice(chunk), dense);
}

bool
GpuSketchAddGroups(qs_sketch **sk, const qb_groups *groups, const GpuColumnChunk *chunk, int chunks,
				   uint64 *added)
{
	GpuGroupValues *all = palloc0(sizeof(GpuGroupValues));
	bool complete;
	uint32 i;

	all->groups = *groups;
	for (i = 0; i < groups->count; i++)
		all->value[i] = remote_of(sk[i])->handle.ref;
	complete = GpuColumnSendGroups(SKETCH_GROUPS, all, chunk, chunks);
	for (i = 0; i < groups->count; i++)
	{
		sk[i]->total += (int64) all->added[i];
		added[i] = all->added[i];
	}
	chain(sk, groups->count);
	pfree(all);
	return complete;
}
