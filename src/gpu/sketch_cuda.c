/*
 * sketch_cuda.c
 *		Sketches on a GPU: the worker's operations on the CUDA engine.
 *
 * src/gpu/sketch_cuda.c
 */
#include "gpu/cuda.h"
#include "gpu/sketch_device.h"

#include "sketch/format.h"
#include "sketch_cuda.h"

typedef struct Sketch
{
	GpuCudaDevice *device;
	qs_cuda_sketch *sketch;
	uint64 bytes;
} Sketch;

/* Make a sketch, empty or a copy of "from". */
static qb_status
make_sketch(GpuCudaDevice *device, const qs_params *params, const qs_sketch *from, void **sketch)
{
	uint64 before = GpuCudaHeld(device);
	Sketch *made;
	qb_status status;

	*sketch = NULL;
	if (!GpuCudaHasRoom(device, qs_dense_size(params, from && from->wide)))
		return QB_NO_MEMORY;
	made = calloc(1, sizeof(Sketch));
	if (made == NULL)
		return QB_NO_MEMORY;
	made->device = device;
	status = from ? qs_cuda_load(device->gpu, from, &made->sketch)
				  : qs_cuda_create(device->gpu, params, &made->sketch);
	if (status != QB_OK)
	{
		free(made);
		return status;
	}
	made->bytes = GpuCudaHeld(device) - before;
	*sketch = made;
	return QB_OK;
}

static qb_status
cuda_create(void *device, const qs_params *params, void **sketch)
{
	return make_sketch(device, params, NULL, sketch);
}

static qb_status
cuda_load(void *device, const qs_sketch *from, void **sketch)
{
	return make_sketch(device, &from->params, from, sketch);
}

static void
cuda_destroy(void *sketch)
{
	qs_cuda_destroy(((Sketch *) sketch)->sketch);
	free(sketch);
}

/* After an operation by which a sketch may have grown. */
static qb_status
count_growth(Sketch *sketch, uint64 before, qb_status status)
{
	sketch->bytes += GpuCudaHeld(sketch->device) - before;
	return status;
}

static qb_status
cuda_insert(void *sketch, const uint64 *key, const int64 *weight, size_t count)
{
	Sketch *s = sketch;
	uint64 before = GpuCudaHeld(s->device);

	return count_growth(s, before, qs_cuda_insert(s->sketch, key, weight, count));
}

static qb_status
cuda_insert_all(void *sketch, const GpuKeys *batch, int batches)
{
	Sketch *s = sketch;
	uint64 before = GpuCudaHeld(s->device);
	qs_cuda_keys keys[GPU_TOGETHER];
	int i;

	StaticAssertStmt(GPU_TOGETHER <= QS_CUDA_TOGETHER, "too many batches for a launch");
	for (i = 0; i < batches; i++)
		keys[i] = (qs_cuda_keys){ batch[i].key, batch[i].weight, batch[i].count };
	return count_growth(s, before, qs_cuda_insert_all(s->sketch, keys, batches));
}

static qb_status
cuda_insert_device(void *sketch, const uint64 *key, size_t count)
{
	Sketch *s = sketch;
	uint64 before = GpuCudaHeld(s->device);

	return count_growth(s, before, qs_cuda_insert_device(s->sketch, key, NULL, count));
}

static qb_status
cuda_query(void *sketch, const uint64 *key, size_t count, int64 *estimate)
{
	return qs_cuda_query(((Sketch *) sketch)->sketch, key, count, estimate);
}

static qb_status
cuda_merge(void *sketch, const void *from)
{
	Sketch *s = sketch;
	uint64 before = GpuCudaHeld(s->device);

	return count_growth(s, before, qs_cuda_merge(s->sketch, ((const Sketch *) from)->sketch));
}

static qb_status
cuda_freeze(void *sketch, qs_sketch *head)
{
	Sketch *s = sketch;
	uint64 before = GpuCudaHeld(s->device);

	return count_growth(s, before, qs_cuda_freeze(s->sketch, head));
}

static qb_status
cuda_read(void *sketch, uint64 offset, uint64 bytes, uint8 *to)
{
	return qs_cuda_read(((Sketch *) sketch)->sketch, offset, bytes, to);
}

static qb_status
cuda_fetch(void *sketch, qs_sketch *to, const qb_memory *memory)
{
	Sketch *s = sketch;
	uint64 before = GpuCudaHeld(s->device);

	return count_growth(s, before, qs_cuda_fetch(s->sketch, to, memory));
}

static uint64
cuda_bytes(const void *sketch)
{
	return ((const Sketch *) sketch)->bytes;
}

static int64
cuda_total(const void *sketch)
{
	return qs_cuda_total(((const Sketch *) sketch)->sketch);
}

const GpuSketchDeviceOps gpu_cuda_sketches = {
	.create = cuda_create,
	.load = cuda_load,
	.destroy = cuda_destroy,
	.insert = cuda_insert,
	.insert_all = cuda_insert_all,
	.insert_device = cuda_insert_device,
	.query = cuda_query,
	.merge = cuda_merge,
	.freeze = cuda_freeze,
	.read = cuda_read,
	.fetch = cuda_fetch,
	.bytes = cuda_bytes,
	.total = cuda_total,
};
