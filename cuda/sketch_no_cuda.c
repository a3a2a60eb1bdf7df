/*
 * sketch_no_cuda.c
 *		The interface of sketch_cuda.h where it was built without CUDA.
 *
 * Nothing can be opened, so these functions are never reached; they answer all
 * the same.
 *
 * cuda/sketch_no_cuda.c
 */
#include "sketch_cuda.h"

qs_status
qs_cuda_create(qs_cuda *gpu, const qs_params *p, qs_cuda_sketch **sketch)
{
	(void) gpu;
	(void) p;
	*sketch = NULL;
	return QS_DEVICE_ERROR;
}

void
qs_cuda_destroy(qs_cuda_sketch *sketch)
{
	(void) sketch;
}

qs_status
qs_cuda_load(qs_cuda *gpu, const qs_sketch *from, qs_cuda_sketch **sketch)
{
	(void) gpu;
	(void) from;
	*sketch = NULL;
	return QS_DEVICE_ERROR;
}

qs_status
qs_cuda_fetch(qs_cuda_sketch *sketch, qs_sketch *to, const qs_memory *memory)
{
	(void) sketch;
	(void) to;
	(void) memory;
	return QS_DEVICE_ERROR;
}

qs_status
qs_cuda_reset(qs_cuda_sketch *sketch)
{
	(void) sketch;
	return QS_DEVICE_ERROR;
}

const qs_params *
qs_cuda_params(const qs_cuda_sketch *sketch)
{
	(void) sketch;
	return NULL;
}

int64_t
qs_cuda_total(const qs_cuda_sketch *sketch)
{
	(void) sketch;
	return 0;
}

qs_status
qs_cuda_insert(qs_cuda_sketch *sketch, const uint64_t *key, const int64_t *weight, size_t count)
{
	(void) sketch;
	(void) key;
	(void) weight;
	(void) count;
	return QS_DEVICE_ERROR;
}

qs_status
qs_cuda_insert_device(qs_cuda_sketch *sketch, const uint64_t *key, const int64_t *weight,
					  size_t count)
{
	return qs_cuda_insert(sketch, key, weight, count);
}

qs_status
qs_cuda_remove(qs_cuda_sketch *sketch, const uint64_t *key, const int64_t *weight, size_t count)
{
	return qs_cuda_insert(sketch, key, weight, count);
}

qs_status
qs_cuda_remove_device(qs_cuda_sketch *sketch, const uint64_t *key, const int64_t *weight,
					  size_t count)
{
	return qs_cuda_insert(sketch, key, weight, count);
}

qs_status
qs_cuda_query(qs_cuda_sketch *sketch, const uint64_t *key, size_t count, int64_t *estimate)
{
	(void) sketch;
	(void) key;
	(void) count;
	(void) estimate;
	return QS_DEVICE_ERROR;
}

qs_status
qs_cuda_query_device(qs_cuda_sketch *sketch, const uint64_t *key, size_t count, int64_t *estimate)
{
	return qs_cuda_query(sketch, key, count, estimate);
}

qs_status
qs_cuda_merge(qs_cuda_sketch *into, const qs_cuda_sketch *from)
{
	(void) into;
	(void) from;
	return QS_DEVICE_ERROR;
}

qs_status
qs_cuda_fold(qs_cuda_sketch *sketch, uint64_t n)
{
	(void) sketch;
	(void) n;
	return QS_DEVICE_ERROR;
}

qs_status
qs_cuda_widen(qs_cuda_sketch *sketch)
{
	(void) sketch;
	return QS_DEVICE_ERROR;
}

qs_status
qs_cuda_sf_insert(qs_cuda_sketch *slim, qs_sketch *full, const uint64_t *key, const int64_t *weight,
				  size_t count, int threads)
{
	(void) slim;
	(void) full;
	(void) key;
	(void) weight;
	(void) count;
	(void) threads;
	return QS_DEVICE_ERROR;
}
