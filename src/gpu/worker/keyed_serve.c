/*
 * keyed_serve.c
 *		The common part of the request handlers of sketches and filters.
 *
 * src/gpu/worker/keyed_serve.c
 */
#include "gpu/gpu.h"
#include "gpu/worker/keyed_worker.h"

GpuKeyed gpu_keyed[GPU_HANDLES];

static qb_status
make_on(const GpuKeyed *k, int device, const void *from, void **created)
{
	qb_status status;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	GPU_WITH_ROOM(status, device, k->ops->make(gpu_device[device], &k->params, from, created));
	return GpuNoteCreated(status, device);
}

qb_status
GpuKeyedMake(int index, const GpuKeyedOps *ops, int device, const GpuShape *params,
			 const void *from)
{
	GpuKeyed *k = &gpu_keyed[index];
	qb_status status;

	k->ops = ops;
	k->device = device;
	k->params = *params;
	k->given = 0;
	status = make_on(k, device, from, &k->on_device);
	if (status == QB_OK)
		GpuCount(COUNT_CREATED, 1);
	return status;
}

bool
GpuKeyedIsFull(int index)
{
	return gpu_shared->handle[index].full;
}

void
GpuKeyedNoteFull(int index)
{
	GpuCount(COUNT_FALLBACKS, !GpuKeyedIsFull(index));
	gpu_shared->handle[index].full = true;
}

/* ---- keys of chunks ---- */

void *
GpuKeyedOn(GpuKeyed *k, int device, qb_status *status)
{
	void **replica = &k->replica[device];

	*status = QB_OK;
	if (k->device == device)
		return k->on_device;
	if (*replica == NULL)
	{
		*status = make_on(k, device, NULL, replica);
		k->replicas += *status == QB_OK;
	}
	return *replica;
}

qb_status
GpuKeyedAdd(int index, const GpuGathered *gathered)
{
	GpuKeyed *k = &gpu_keyed[index];
	qb_status status = QB_NO_MEMORY;
	void *value = NULL;

	if (!k->ops->grows || gpu_fault != FAULT_SPILL)
		value = GpuKeyedOn(k, gathered->device, &status);
	if (value)
		status = k->ops->insert(value, gathered->key, gathered->count);
	GpuShowMemory(gathered->device);
	if (status == QB_OK)
		k->given += gathered->count;
	else if (status == QB_NO_MEMORY && k->ops->grows && gathered->chunks == 1)
		GpuKeyedNoteFull(index);
	return status;
}

static qb_status
add_gathered(GpuSlot *slot, const GpuGathered *gathered)
{
	return GpuKeyedAdd(slot->handle.index, gathered);
}

qb_status
GpuKeyedServeColumns(GpuSlot *const *slot, int *count, double work)
{
	const GpuKeyed *k = &gpu_keyed[slot[0]->handle.index];
	const GpuAdding adding = { .work = work,
							   .together =
								   k->ops->gains_together && k->ops->gains_together(k->on_device),
							   .add = add_gathered };

	return GpuColumnServe(slot, count, &adding);
}

/* ---- replicas ---- */

/* The replica that is being merged.  If no merge has begun, the merge of any replica begins. */
static void *
joining_replica(GpuKeyed *k)
{
	int device = 0;

	if (k->joining)
		return k->joining;
	while (k->replica[device] == NULL)
		device++;
	k->joining = k->replica[device];
	k->joining_device = device;
	k->replica[device] = NULL;
	return k->joining;
}

static void
drop_joining(GpuKeyed *k)
{
	k->ops->destroy(k->joining);
	GpuNoteFreed(k->joining_device);
	k->joining = NULL;
	k->replicas--;
}

static bool
has_replicas(int index)
{
	return gpu_keyed[index].replicas > 0 && !GpuKeyedIsFull(index);
}

/*
 * The handle whose replicas must be merged first, because the request needs the whole value; -1: no
 * merge is necessary.
 */
static int
find_replicas(const GpuSlot *slot, uint32 whole)
{
	if (!(whole >> slot->op & 1))
		return -1;
	if (has_replicas(slot->handle.index))
		return slot->handle.index;
	if (slot->other.serial != 0 && has_replicas(slot->other.index))
		return slot->other.index;
	return -1;
}

/*
 * Merge the next piece of a replica.  If the device has no memory, a value that grows becomes
 * full, and its backend merges the rest.  After any other error, the value must not be used.
 */
static qb_status
merge_replica(int index)
{
	GpuKeyed *k = &gpu_keyed[index];
	void *replica = joining_replica(k);
	bool more = true;
	qb_status status = k->ops->merge(k, replica, k->joining_device, &more);

	if (status == QB_OK && !more)
		drop_joining(k);
	if (status != QB_NO_MEMORY || !k->ops->grows)
		return status;
	GpuKeyedNoteFull(index);
	return QB_OK;
}

/* ---- the handler ---- */

qb_status
GpuKeyedServeAll(GpuSlot *const *slot, int *count)
{
	const GpuHandler *handler = GpuHandlerOf(slot[0]->handle.family);
	const GpuKeyedOps *ops = handler->keyed;
	int index = find_replicas(slot[0], ops->whole);
	qb_status status;

	if (gpu_keyed[slot[0]->handle.index].on_device == NULL && !(ops->makes >> slot[0]->op & 1))
		return QB_NO_MEMORY;
	if (index < 0)
		return ops->serve(slot, count);
	if (*count > 1)
		return QB_NO_MEMORY;
	status = merge_replica(index);
	slot[0]->more = status == QB_OK;
	if (status != QB_OK)
		handler->drop(index);
	return status;
}

qb_status
GpuKeyedServe(GpuSlot *slot)
{
	int one = 1;

	return GpuKeyedServeAll(&slot, &one);
}

int
GpuKeyedChoose(GpuSlot *slot)
{
	slot->count = GpuChooseDevice(slot->count);
	return slot->count;
}

void
GpuKeyedDrop(int index)
{
	GpuKeyed *k = &gpu_keyed[index];

	while (k->replicas > 0)
	{
		(void) joining_replica(k);
		drop_joining(k);
	}
	if (k->on_device)
	{
		k->ops->destroy(k->on_device);
		GpuNoteFreed(k->device);
	}
	k->on_device = NULL;
	k->begun = false;
	k->merged = 0;
}

GpuLocation
GpuKeyedLocation(int index)
{
	const GpuKeyed *k = &gpu_keyed[index];
	uint32 replicas = k->joining ? 1U << k->joining_device : 0;
	int i;

	for (i = 0; i < GPU_DEVICES_MAX && k->replicas > 0; i++)
		replicas |= (uint32) (k->replica[i] != NULL) << i;
	return (GpuLocation){ .device = k->device,
						  .on_device = k->on_device != NULL,
						  .replicas = replicas,
						  .bytes = k->on_device ? k->ops->bytes(k->on_device) : 0 };
}
