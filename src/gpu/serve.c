/*
 * serve.c
 *		What the GPU worker does with requests.
 *
 * For each entry of the shared table the worker has the sketch itself: on a
 * device, or in its own memory.  The latter is where tables are put together
 * before they go to a device, and where they are after they came back: to be
 * fetched, or because the device had no memory for them to grow.  Such a
 * sketch goes on working, through the CPU engine, so that no keys are lost.
 *
 * src/gpu/serve.c
 */
#include "gpu/worker.h"
#include "gpu/settings.h"
#include "gpu/sketch_tables.h"

#include "pg/sketch_value.h"
#include "utils/memutils.h"

#define DOOMED_AT_ONCE 64

/* The sketch of an entry: at most one of both is there. */
typedef struct Holding
{
	void *on_device;
	qs_sketch *on_host;
	int device;
	GpuSketchShape shape; /* on_host while it is written or read */
} Holding;

static Holding holding[GPU_ENTRIES];

static const GpuDeviceOps *device_ops;
static void *device[GPU_DEVICES_MAX];
static qs_memory host_memory;

uint64
GpuMemoryLimit(void)
{
	return gpu_memory_limit > 0 ? (uint64) gpu_memory_limit << 20 : PG_UINT64_MAX;
}

/* Open one device as device number "index" of this server. */
static bool
open_device(int number, int index, char *reason)
{
	GpuDeviceInfo *info = &gpu_shared->device[index];

	info->number = number;
	device[index] = device_ops->open(number, info, reason);
	if (device[index] == NULL)
	{
		ereport(LOG, (errmsg("could not use GPU %d: %s", number, reason)));
		return false;
	}
	pg_atomic_write_u64(&info->memory_used, 0);
	pg_atomic_write_u64(&info->values, 0);
	ereport(LOG, (errmsg("qsketch uses GPU %d: %s, %llu MB, driver %s", number, info->name,
						 (unsigned long long) (info->memory_bytes >> 20), info->driver)));
	return true;
}

/* Open the devices that the settings name; returns how many. */
int
GpuOpenDevices(const GpuDeviceOps *ops, char *reason)
{
	int number[GPU_DEVICES_MAX];
	int named = GpuDeviceNumbers(number, GPU_DEVICES_MAX);
	int there = ops->count(reason);
	int opened = 0;
	int i;

	device_ops = ops;
	SketchMemory(TopMemoryContext, &host_memory);
	for (i = 0; i < (named > 0 ? named : Min(there, GPU_DEVICES_MAX)); i++)
	{
		int wanted = named > 0 ? number[i] : i;

		if (wanted >= there)
			ereport(LOG, (errmsg("could not use GPU %d: there are %d", wanted, there)));
		else if (open_device(wanted, opened, reason))
			opened++;
	}
	if (opened > 0)
	{
		Size bytes;
		uint8 *slots = GpuAllData(&bytes);

		if (!ops->pin(device[0], slots, bytes))
			ereport(LOG, (errmsg("qsketch copies keys to the GPU without page-locked memory")));
	}
	return opened;
}

/* Tell the others how much there is on each device. */
static void
show_memory(int i)
{
	pg_atomic_write_u64(&gpu_shared->device[i].memory_used, device_ops->memory_used(device[i]));
}

static void
show_entry(int index)
{
	Holding *h = &holding[index];

	gpu_shared->entry[index].device = h->on_device ? h->device : -1;
	gpu_shared->entry[index].bytes = h->on_device ? device_ops->bytes(h->on_device) : 0;
	show_memory(h->device);
}

static void
drop_device_form(Holding *h)
{
	if (h->on_device == NULL)
		return;
	device_ops->destroy(h->on_device);
	h->on_device = NULL;
	pg_atomic_fetch_sub_u64(&gpu_shared->device[h->device].values, 1);
}

static void
drop_host_form(Holding *h)
{
	if (h->on_host == NULL)
		return;
	qs_free(h->on_host);
	pfree(h->on_host);
	h->on_host = NULL;
}

/* Free the sketches of doomed entries. */
void
GpuFreeDoomed(void)
{
	int index[DOOMED_AT_ONCE];
	int count;
	int i;

	if (pg_atomic_read_u32(&gpu_shared->doomed) == 0)
		return;
	do
	{
		count = GpuTakeDoomed(index, DOOMED_AT_ONCE);
		for (i = 0; i < count; i++)
		{
			drop_device_form(&holding[index[i]]);
			drop_host_form(&holding[index[i]]);
			show_memory(holding[index[i]].device);
			GpuEntryFreed(index[i]);
		}
	}
	while (count == DOOMED_AT_ONCE);
}

/* Keep cached copies within qsketch.gpu_cache_size. */
void
GpuTrimCache(void)
{
	uint64 limit = (uint64) gpu_cache_size << 20;

	while (pg_atomic_read_u64(&gpu_shared->cache_now) > limit && GpuEvictOldest(-1))
		;
}

/* Give up a cached copy to make room on a device. */
static bool
make_room(int i)
{
	if (!GpuEvictOldest(i))
		return false;
	GpuFreeDoomed();
	return true;
}

/* The device with the least on it. */
static int
choose_device(void)
{
	int best = 0;
	int i;

	for (i = 1; i < gpu_shared->device_count; i++)
		if (device_ops->memory_used(device[i]) < device_ops->memory_used(device[best]))
			best = i;
	return best;
}

/* Put a sketch on a device: an empty one, or a copy of "from" if not NULL. */
static qs_status
to_device(Holding *h, int i, const qs_params *params, const qs_sketch *from)
{
	qs_status status = QS_NO_MEMORY;

	if (gpu_fault == FAULT_MEMORY)
		return QS_NO_MEMORY;
	do
	{
		status = from ? device_ops->load(device[i], from, &h->on_device)
					  : device_ops->create(device[i], params, &h->on_device);
	}
	while (status == QS_NO_MEMORY && make_room(i));
	if (status != QS_OK)
		return status;
	h->device = i;
	pg_atomic_fetch_add_u64(&gpu_shared->device[i].values, 1);
	GpuCount(COUNT_CREATED, 1);
	return QS_OK;
}

/* Bring a sketch back from its device, for good. */
static qs_status
to_host(Holding *h)
{
	qs_sketch *copy;
	qs_status status;

	if (h->on_host)
		return QS_OK;
	if (h->on_device == NULL)
		return QS_NO_MEMORY;
	copy = MemoryContextAllocZero(TopMemoryContext, sizeof(qs_sketch));
	status = device_ops->fetch(h->on_device, copy, &host_memory);
	if (status != QS_OK)
	{
		pfree(copy);
		return status;
	}
	drop_device_form(h);
	h->on_host = copy;
	return QS_OK;
}

/* Likewise because its device has no memory for it to grow. */
static qs_status
evict(int index)
{
	qs_status status = to_host(&holding[index]);

	if (status == QS_OK)
	{
		gpu_shared->entry[index].evicted = true;
		GpuCount(COUNT_FALLBACKS, 1);
	}
	return status;
}

static qs_status
serve_create(GpuSlot *slot)
{
	return to_device(&holding[slot->entry.index], choose_device(), &GpuSketchShapeIn(slot)->params,
					 NULL);
}

static qs_status
serve_load(GpuSlot *slot)
{
	Holding *h = &holding[slot->entry.index];
	qs_status status;

	h->on_host = MemoryContextAllocZero(TopMemoryContext, sizeof(qs_sketch));
	h->shape = *GpuSketchShapeIn(slot);
	qs_init(h->on_host, &GpuSketchShapeIn(slot)->params, &host_memory);
	status = GpuMakeTables(h->on_host, &h->shape);
	if (status != QS_OK)
		drop_host_form(h);
	return status;
}

static qs_status
serve_write(GpuSlot *slot)
{
	Holding *h = &holding[slot->entry.index];

	if (h->on_host == NULL)
		return QS_NO_MEMORY;
	GpuWritePiece(h->on_host, &h->shape, slot->offset, slot->bytes, GpuSlotData(slot));
	GpuCount(COUNT_BYTES_IN, slot->bytes);
	return QS_OK;
}

static qs_status
serve_loaded(GpuSlot *slot)
{
	Holding *h = &holding[slot->entry.index];
	qs_status status = QS_NO_MEMORY;

	if (h->on_host)
		status = to_device(h, choose_device(), NULL, h->on_host);
	drop_host_form(h);
	return status;
}

static qs_status
serve_insert(GpuSlot *slot)
{
	Holding *h = &holding[slot->entry.index];
	const uint64 *key = (const uint64 *) GpuSlotData(slot);
	const int64 *weight = slot->weighted ? (const int64 *) (key + slot->count) : NULL;
	qs_status status = QS_NO_MEMORY;

	GpuCount(COUNT_BATCHES, 1);
	GpuCount(COUNT_KEYS, slot->count);
	GpuCount(COUNT_BYTES_IN, slot->count * (slot->weighted ? 16 : 8));
	if (h->on_device)
	{
		if (gpu_fault != FAULT_SPILL)
			status = device_ops->insert(h->on_device, key, weight, slot->count);
		if (status != QS_NO_MEMORY)
			return status;
		status = evict(slot->entry.index);
		if (status != QS_OK)
			return status;
	}
	if (h->on_host == NULL)
		return QS_NO_MEMORY;
	return qs_engine_cpu.insert(h->on_host, key, weight, slot->count);
}

static qs_status
serve_query(GpuSlot *slot)
{
	Holding *h = &holding[slot->entry.index];
	uint64 *key = (uint64 *) GpuSlotData(slot);

	if (h->on_device == NULL)
		return QS_NO_MEMORY;
	GpuCount(COUNT_QUERIES, 1);
	GpuCount(COUNT_LOOKUPS, slot->count);
	GpuCount(COUNT_BYTES_IN, slot->count * 8);
	GpuCount(COUNT_BYTES_OUT, slot->count * 8);
	return device_ops->query(h->on_device, key, slot->count, (int64 *) key);
}

/* Merge where at least one of both is in the worker's memory. */
static qs_status
merge_on_host(int into, Holding *from)
{
	qs_status status = evict(into);

	if (status == QS_OK)
		status = to_host(from);
	return status == QS_OK ? qs_merge(holding[into].on_host, from->on_host) : status;
}

/* The sketch of another device as one of this device; the original goes. */
static qs_status
move_to_device(Holding *h, int i)
{
	qs_status status = to_host(h);

	if (status == QS_OK)
		status = to_device(h, i, NULL, h->on_host);
	if (status == QS_OK)
		drop_host_form(h);
	return status;
}

static qs_status
serve_merge(GpuSlot *slot)
{
	Holding *into = &holding[slot->entry.index];
	Holding *from = &holding[slot->other.index];
	qs_status status = QS_OK;

	GpuCount(COUNT_MERGES, 1);
	if (into->on_host)
		return merge_on_host(slot->entry.index, from);
	if (from->on_host || from->device != into->device)
		status = move_to_device(from, into->device);
	if (status == QS_OK)
		status = device_ops->merge(into->on_device, from->on_device);
	if (status == QS_NO_MEMORY)
		status = merge_on_host(slot->entry.index, from);
	return status;
}

static qs_status
serve_fetch(GpuSlot *slot)
{
	Holding *h = &holding[slot->entry.index];
	qs_status status = to_host(h);

	GpuCount(COUNT_FETCHES, 1);
	if (status == QS_OK)
	{
		GpuShapeOf(&h->shape, h->on_host);
		*GpuSketchShapeIn(slot) = h->shape;
	}
	return status;
}

static qs_status
serve_read(GpuSlot *slot)
{
	Holding *h = &holding[slot->entry.index];

	if (h->on_host == NULL)
		return QS_NO_MEMORY;
	GpuReadPiece(h->on_host, &h->shape, slot->offset, slot->bytes, GpuSlotData(slot));
	GpuCount(COUNT_BYTES_OUT, slot->bytes);
	return QS_OK;
}

/*
 * Is a sketch that a request names still there?  A doomed one counts: it may
 * have been dropped after a request to merge it, which comes later.
 */
static bool
is_there(const GpuRef *ref)
{
	GpuEntry *entry = &gpu_shared->entry[ref->index];
	bool there;

	LWLockAcquire(gpu_shared->entries, LW_SHARED);
	there =
		entry->serial == ref->serial && entry->state != ENTRY_UNUSED && entry->state != ENTRY_LOST;
	LWLockRelease(gpu_shared->entries);
	return there;
}

/* Keys on their way to a sketch could not be added: it is worth nothing now. */
static void
lose_sketch(GpuSlot *slot)
{
	if (!slot->gone)
		strlcpy(gpu_shared->reason, qs_status_text(slot->status), GPU_TEXT_BYTES);
	if (GpuLoseEntry(&slot->entry))
	{
		drop_device_form(&holding[slot->entry.index]);
		drop_host_form(&holding[slot->entry.index]);
	}
}

static qs_status
serve_one(GpuSlot *slot)
{
	switch ((GpuSketchOp) slot->op)
	{
		case SKETCH_CREATE:
			return serve_create(slot);
		case SKETCH_LOAD:
			return serve_load(slot);
		case SKETCH_WRITE:
			return serve_write(slot);
		case SKETCH_LOADED:
			return serve_loaded(slot);
		case SKETCH_INSERT:
			return serve_insert(slot);
		case SKETCH_QUERY:
			return serve_query(slot);
		case SKETCH_MERGE:
			return serve_merge(slot);
		case SKETCH_FETCH:
			return serve_fetch(slot);
		case SKETCH_READ:
			return serve_read(slot);
	}
	return QS_DEVICE_ERROR;
}

/*
 * Serve a request.  An error of the device ends the worker: after one, no
 * answer of this device can be trusted.
 */
void
GpuServe(GpuSlot *slot)
{
	bool on_device =
		slot->op == SKETCH_INSERT || slot->op == SKETCH_QUERY || slot->op == SKETCH_MERGE;

	slot->gone = !is_there(&slot->entry) || (slot->other.serial != 0 && !is_there(&slot->other));
	if (slot->gone && !slot->wait)
		lose_sketch(slot);
	if (slot->gone || slot->abandoned)
		return;
	if (gpu_fault == FAULT_ERROR && on_device)
		GpuWorkerFails("simulated failure");
	slot->status = serve_one(slot);
	if (slot->status == QS_DEVICE_ERROR)
		GpuWorkerFails(device_ops->error(device[holding[slot->entry.index].device]));
	if (slot->status != QS_OK && !slot->wait)
		lose_sketch(slot);
	show_entry(slot->entry.index);
}
