/*
 * sketch_engine.c
 *		The GPU engine of backends: the state of an aggregate on a device.
 *
 * A sketch starts here, in explicit encoding.  When it has too many keys for that form,
 * and is large enough for the GPU to pay, it gets dense on a device.  Its handles and
 * all further keys are sent there, and only the total is known here.  Whoever wants to
 * read the sketch materializes it: its tables come back, and stay.  Sketches of structure sf
 * stay on the CPU, because their fat tables are meant for its memory.
 *
 * src/gpu/sketch_engine.c
 */
#include "gpu/sketch_gpu.h"
#include "gpu/gpu.h"
#include "gpu/sketch_client.h"
#include "gpu/sketch_remote.h"
#include "gpu/settings.h"
#include "gpu/wait.h"

#include "sketch/explicit.h"
#include "utils/memutils.h"

/* Up to this size tables stay where they are until they have so many keys. */
#define STAY_BYTES (2 * 1024 * 1024)
#define STAY_KEYS  262144

/* Bytes of the tables that keys touch. */
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
GpuSketchReason(const qs_params *p)
{
	if (device_setting != DEVICE_CPU && GpuSketchOnlyOnCpu(p))
		return "sketches of structure sf are made on the CPU";
	return GpuReason(touched_bytes(p), "the sketch is smaller than qsketch.gpu_min_size");
}

bool
GpuSketchWantsLookup(const qs_sketch *sk, size_t count)
{
	return sk->encoding != QS_EXPLICIT && qs_has_table(&sk->params) && GpuMayLookup(count) &&
		   GpuIsLarge(touched_bytes(&sk->params));
}

/* Should sketches of these parameters go to a device? */
static bool
wants_device(const qs_params *p)
{
	return GpuSketchReason(p) == NULL;
}

/*
 * Does it pay to take a sketch of so much weight to a device and back?  The way takes
 * a millisecond or so, and the CPU is hardly slower as long as the tables are in its
 * caches.  With qsketch.device = gpu it is not asked.
 */
static bool
is_worth_moving(const qs_params *p, int64 total)
{
	return device_setting == DEVICE_GPU || touched_bytes(p) > STAY_BYTES || total >= STAY_KEYS;
}

static void
fell_back(void)
{
	GpuCount(COUNT_FALLBACKS, 1);
}

/*
 * Send all handles of an explicit sketch.  A sketch may be flushed in any memory
 * context, also in one that cannot free (a sort's tuples, since PostgreSQL 17).
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
	GpuSketchSend(ref, key, count, n);
}

/* An explicit sketch goes to a new one on a device, if that was "made". */
static bool
become_dense(qs_sketch *sk, const GpuRef *ref, bool made)
{
	if (!made)
	{
		fell_back();
		return false;
	}
	send_entries(ref, sk);
	GpuSketchBecomeRemote(sk, ref);
	return true;
}

bool
GpuSketchMoveExplicit(qs_sketch *sk, int device)
{
	GpuRef ref;
	bool made = GpuSketchCreate(&sk->params, device, &ref);

	return become_dense(sk, &ref, made);
}

void
GpuSketchMoveAll(qs_sketch **sk, uint32 count, int device, bool *moves)
{
	GpuRef *ref = palloc(count * sizeof(GpuRef));
	bool *made = palloc(count * sizeof(bool));
	uint32 *place = palloc(count * sizeof(uint32));
	uint32 wanted = 0;
	uint32 i;

	for (i = 0; i < count; i++)
		if (moves[i])
			place[wanted++] = i;
	GpuSketchCreateAll(&sk[0]->params, device, wanted, ref, made);
	for (i = 0; i < wanted; i++)
		moves[place[i]] = become_dense(sk[place[i]], &ref[i], made[i]);
	pfree(place);
	pfree(made);
	pfree(ref);
}

/* Move a dense sketch to a device; false if there is no memory. */
bool
GpuSketchMoveDense(qs_sketch *sk)
{
	GpuRef ref;

	if (!GpuSketchUpload(sk, &ref))
	{
		fell_back();
		return false;
	}
	GpuSketchBecomeRemote(sk, &ref);
	return true;
}

/* Insert the keys that the explicit encoding has no room for; the total has them already. */
static qb_status
insert_rest(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	if (GpuSketchMoveExplicit(sk, -1))
	{
		GpuSketchSend(&GpuRemoteOf(sk)->ref, fingerprint, weight, count);
		return QB_OK;
	}
	sk->total -= qs_weight_sum(weight, count);
	return qs_engine_cpu.insert(sk, fingerprint, weight, count);
}

/* Insert keys into an explicit sketch, which goes to a device when it gets dense. */
static qb_status
insert_explicit(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	size_t done;

	if (qs_explicit_add(sk, fingerprint, weight, count, &done) != QB_OK)
		return QB_NO_MEMORY;
	if (done == count)
		return QB_OK;
	return insert_rest(sk, fingerprint + done, weight ? weight + done : NULL, count - done);
}

static qb_status
check_total(const qs_sketch *sk, int64_t sum)
{
	if (sum < 0 || sum > INT64_MAX - sk->total)
		return QB_TOTAL_OVERFLOW;
	return qs_writable(sk);
}

bool
GpuSketchCannotGrow(const qs_sketch *sk)
{
	return gpu_shared->handle[GpuRemoteOf(sk)->ref.index].full;
}

/*
 * May these keys move a sketch to a device?  An explicit sketch goes when it gets
 * dense.  A dense one goes right now, with the batch from which on it pays.
 */
static bool
moves_with(qs_sketch *sk, int64 sum)
{
	if (!wants_device(&sk->params) || !is_worth_moving(&sk->params, sk->total + sum))
		return false;
	return sk->encoding == QS_EXPLICIT ||
		   (!is_worth_moving(&sk->params, sk->total) && GpuSketchMoveDense(sk));
}

qb_status
GpuSketchInsert(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	int64_t sum = qs_weight_sum(weight, count);
	qb_status status = QB_OK;

	if (sk->remote && GpuSketchCannotGrow(sk))
		status = GpuSketchMaterialize(sk);
	if (status != QB_OK)
		return status;
	status = check_total(sk, sum);
	if (status != QB_OK)
		return status;
	if (!sk->remote && !moves_with(sk, sum))
		return qs_engine_cpu.insert(sk, fingerprint, weight, count);
	sk->total += sum;
	if (!sk->remote)
		return insert_explicit(sk, fingerprint, weight, count);
	GpuSketchSend(&GpuRemoteOf(sk)->ref, fingerprint, weight, count);
	return QB_OK;
}

static qb_status
gpu_remove(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	qb_status status = GpuSketchMaterialize(sk);

	return status == QB_OK ? qs_engine_cpu.remove(sk, fingerprint, weight, count) : status;
}

/* Merge what is known here without the tables: totals, kind of keys. */
static void
merge_state(qs_sketch *into, const qs_sketch *from)
{
	into->total += from->total;
	qb_keys_take(&into->keys, &from->keys);
}

/* Merge what is left of a sketch into one that stays here; it may be remote. */
static qb_status
merge_here(qs_sketch *into, const qs_sketch *from, const GpuSketchMerged *merged)
{
	qs_sketch copy;
	qb_status status;

	if (from->remote == NULL)
		return GpuSketchMergeRest(into, from, merged);
	qs_init(&copy, &from->params, into->memory);
	copy.keys = from->keys;
	status = GpuSketchDownload(&(GpuSketchAhead){ .ref = GpuRemoteOf(from)->ref }, NULL, &copy);
	if (status == QB_OK)
		status = GpuSketchMergeRest(into, &copy, merged);
	qs_free(&copy);
	return status;
}

/*
 * Merge a sketch into a remote one, in the worker, where it is "there".  What the device has no
 * memory for is merged here: "into" comes back for good.
 */
static qb_status
merge_there(qs_sketch *into, const qs_sketch *from, const GpuRef *there)
{
	GpuRemote *remote = GpuRemoteOf(into);
	GpuSketchMerged merged;
	qb_status status;

	remote->merging = true;
	status = GpuSketchMergeInto(&remote->ref, there, &merged);
	remote->merging = status != QB_OK && status != QB_NO_MEMORY;
	if (status == QB_OK || merged.begun)
		merge_state(into, from);
	if (status != QB_NO_MEMORY)
		return status;
	status = GpuSketchMaterialize(into);
	return status == QB_OK ? merge_here(into, from, &merged) : status;
}

/*
 * Merge a sketch that is here, and not explicit, into a remote one; false: no memory for
 * it.  A device takes tables, so they are made of a compact sketch.
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
	if (!GpuSketchUpload(from, &ref))
		return false;
	*status = merge_there(into, from, &ref);
	GpuDropHandle(&ref);
	return true;
}

/* Merge into a remote sketch; false: materialize it, and merge here. */
static bool
merge_into_remote(qs_sketch *into, const qs_sketch *from, qb_status *status)
{
	*status = QB_OK;
	if (from == into)
		return false;
	if (from->remote)
		*status = merge_there(into, from, &GpuRemoteOf(from)->ref);
	else if (from->encoding != QS_EXPLICIT)
		return merge_uploaded(into, from, status);
	else
	{
		send_entries(&GpuRemoteOf(into)->ref, from);
		merge_state(into, from);
	}
	return true;
}

/* Move "into" to a device if the merge is better done there. */
static void
move_for_merge(qs_sketch *into, const qs_sketch *from)
{
	if (into->remote || !wants_device(&into->params))
		return;
	if (into->encoding == QS_EXPLICIT && from->remote)
		(void) GpuSketchMoveExplicit(into, -1);
	else if (into->encoding == QS_DENSE && (from->remote || device_setting == DEVICE_GPU))
		(void) GpuSketchMoveDense(into);
}

static qb_status
gpu_merge(qs_sketch *into, const qs_sketch *from)
{
	const GpuSketchMerged nothing = { 0 };
	qb_status status;

	if (from->total > INT64_MAX - into->total)
		return QB_TOTAL_OVERFLOW;
	move_for_merge(into, from);
	if (into->remote && merge_into_remote(into, from, &status))
		return status;
	status = GpuSketchMaterialize(into);
	return status == QB_OK ? merge_here(into, from, &nothing) : status;
}

static size_t
gpu_batch(const qs_sketch *sk)
{
	return sk->remote ? GPU_SLOT_KEYS : QS_BATCH;
}

static const qs_engine gpu_engine = {
	.insert = GpuSketchInsert,
	.remove = gpu_remove,
	.merge = gpu_merge,
	.materialize = GpuSketchMaterialize,
	.batch = gpu_batch,
};

const qs_engine *
GpuSketchEngine(void)
{
	return GpuIsWanted() ? &gpu_engine : &qs_engine_cpu;
}

const qs_engine *
GpuSketchEngineOf(const qs_sketch *sk)
{
	return sk->remote ? &gpu_engine : &qs_engine_cpu;
}
