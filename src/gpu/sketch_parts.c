/*
 * sketch_parts.c
 *		Sketches in the GPU worker that get keys of copies on several devices.
 *
 * A sketch is on one device.  Keys of copies on another device go into a part of the
 * sketch there, a sketch of its own with the same parameters.  So keys stay where they
 * are, and each device counts its own.  The parts are merged into the sketch before
 * anybody reads it or merges it with another one, slice by slice.  Keys that come between
 * two slices go into a new part.
 *
 * src/gpu/sketch_parts.c
 */
#include "gpu/column_worker.h"
#include "gpu/settings.h"
#include "gpu/sketch_holding.h"

/* Have a part on a device. */
static qb_status
make_part(GpuSketchHolding *h, int device)
{
	qb_status status;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	GPU_WITH_ROOM(status, device,
				  GpuSketchOps()->create(gpu_device[device], &h->params, &h->part[device]));
	if (status != QB_OK)
		return status;
	h->parts++;
	pg_atomic_fetch_add_u64(&gpu_shared->device[device].values, 1);
	return QB_OK;
}

static void
free_part(qs_cuda_sketch **part, int device)
{
	GpuSketchOps()->destroy(*part);
	*part = NULL;
	pg_atomic_fetch_sub_u64(&gpu_shared->device[device].values, 1);
	GpuShowMemory(device);
}

static bool
is_joining(const GpuSketchHolding *h)
{
	return h->joining || h->joining_on_host;
}

static void
drop_joining(GpuSketchHolding *h)
{
	if (h->joining)
		free_part(&h->joining, h->joining_device);
	GpuSketchFreeCopy(&h->joining_on_host);
	h->parts--;
}

void
GpuSketchDropParts(GpuSketchHolding *h)
{
	int device;

	if (is_joining(h))
		drop_joining(h);
	for (device = 0; device < GPU_DEVICES_MAX && h->parts > 0; device++)
		if (h->part[device])
		{
			free_part(&h->part[device], device);
			h->parts--;
		}
}

qb_status
GpuSketchInsertPart(GpuSketchHolding *h, const GpuPicked *picked)
{
	qb_status status = QB_OK;

	if (h->part[picked->device] == NULL)
		status = make_part(h, picked->device);
	if (status == QB_OK)
		status = GpuSketchOps()->insert_device(h->part[picked->device], picked->key, NULL,
											   picked->count);
	GpuShowMemory(picked->device);
	return status;
}

/* Take one of the parts that there are, to be merged. */
static void
take_part(GpuSketchHolding *h)
{
	int device = 0;

	while (h->part[device] == NULL)
		device++;
	h->joining = h->part[device];
	h->joining_device = device;
	h->part[device] = NULL;
}

/* Move the part that is being merged to the worker's memory. */
static qb_status
move_joining(int index)
{
	GpuSketchHolding *h = &gpu_sketch_holding[index];
	qb_status status = GpuSketchFetch(h->joining, &h->joining_on_host);

	if (status != QB_OK)
		return status;
	free_part(&h->joining, h->joining_device);
	GpuCount(COUNT_FALLBACKS, 1);
	return QB_OK;
}

qb_status
GpuSketchMergePart(int index)
{
	GpuSketchHolding *h = &gpu_sketch_holding[index];
	GpuSketchSource part = { .on_device = &h->joining,
							 .device = &h->joining_device,
							 .params = &h->params,
							 .on_host = &h->joining_on_host,
							 .to_host = move_joining,
							 .index = index };
	qb_status status;
	bool more;

	if (!is_joining(h))
		take_part(h);
	status = GpuSketchMerge(index, &part, &more);
	if (status == QB_OK && !more)
		drop_joining(h);
	return status;
}
