/*
 * sketch_parts.c
 *		Sketches in the GPU worker that get keys of copies on several devices.
 *
 * A sketch is on one device.  Keys of copies on another device go into a part of the
 * sketch there, a sketch of its own with the same parameters.  So keys stay where they
 * are, and each device counts its own.  The parts are merged into the sketch before
 * anybody reads it or merges it with another one, slice by slice.  Keys that come between
 * two slices go into a new part.  Without memory for that the backend fetches the parts.
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

static void
drop_joining(GpuSketchHolding *h)
{
	free_part(&h->joining, h->joining_device);
	h->parts--;
}

void
GpuSketchDropParts(GpuSketchHolding *h)
{
	int device;

	if (h->joining)
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

qb_status
GpuSketchMergePart(GpuSketchHolding *h)
{
	GpuSketchSource part = { .params = &h->params };
	qb_status status;
	bool more;

	if (h->joining == NULL)
		take_part(h);
	part.sketch = h->joining;
	part.device = h->joining_device;
	status = GpuSketchMerge(h, &part, &more);
	if (status == QB_OK && !more)
		drop_joining(h);
	return status;
}

void *
GpuSketchPart(const GpuSketchHolding *h, int number)
{
	int device;

	if (h->joining && --number == 0)
		return h->joining;
	for (device = 0; device < GPU_DEVICES_MAX; device++)
		if (h->part[device] && --number == 0)
			return h->part[device];
	return NULL;
}
