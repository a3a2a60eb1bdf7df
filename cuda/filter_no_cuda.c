/*
 * filter_no_cuda.c
 *		The interface of filter_cuda.h where it was built without CUDA.
 *
 * Nothing can be opened, so these functions are never reached; they answer all
 * the same.
 *
 * cuda/filter_no_cuda.c
 */
#include "filter_cuda.h"

qs_status
qf_cuda_create(qs_cuda *gpu, const qf_params *p, qf_cuda_filter **filter)
{
	(void) gpu;
	(void) p;
	*filter = NULL;
	return QS_DEVICE_ERROR;
}

void
qf_cuda_destroy(qf_cuda_filter *filter)
{
	(void) filter;
}

qs_status
qf_cuda_load(qs_cuda *gpu, const qf_filter *from, qf_cuda_filter **filter)
{
	return qf_cuda_create(gpu, &from->params, filter);
}

qs_status
qf_cuda_fetch(qf_cuda_filter *filter, qf_filter *to, const qs_memory *memory)
{
	(void) filter;
	(void) to;
	(void) memory;
	return QS_DEVICE_ERROR;
}

qs_status
qf_cuda_reset(qf_cuda_filter *filter)
{
	(void) filter;
	return QS_DEVICE_ERROR;
}

qs_status
qf_cuda_put(qf_cuda_filter *filter, uint64_t offset, const uint8_t *from, size_t bytes)
{
	(void) filter;
	(void) offset;
	(void) from;
	(void) bytes;
	return QS_DEVICE_ERROR;
}

qs_status
qf_cuda_get(qf_cuda_filter *filter, uint64_t offset, uint8_t *to, size_t bytes)
{
	(void) filter;
	(void) offset;
	(void) to;
	(void) bytes;
	return QS_DEVICE_ERROR;
}

qs_status
qf_cuda_set(qf_cuda_filter *filter, const uint32_t *position, size_t count)
{
	(void) filter;
	(void) position;
	(void) count;
	return QS_DEVICE_ERROR;
}

qs_status
qf_cuda_insert(qf_cuda_filter *filter, const qf_batch *batch)
{
	(void) filter;
	(void) batch;
	return QS_DEVICE_ERROR;
}

qs_status
qf_cuda_insert_device(qf_cuda_filter *filter, const qf_batch *batch)
{
	return qf_cuda_insert(filter, batch);
}

qs_status
qf_cuda_query(qf_cuda_filter *filter, const uint64_t *fingerprint, size_t count, int64_t *set)
{
	(void) filter;
	(void) fingerprint;
	(void) count;
	(void) set;
	return QS_DEVICE_ERROR;
}

qs_status
qf_cuda_contains(qf_cuda_filter *filter, const uint64_t *fingerprint, size_t count, bool *found)
{
	(void) filter;
	(void) fingerprint;
	(void) count;
	(void) found;
	return QS_DEVICE_ERROR;
}

qs_status
qf_cuda_query_device(qf_cuda_filter *filter, const uint64_t *fingerprint, size_t count,
					 int64_t *set)
{
	return qf_cuda_query(filter, fingerprint, count, set);
}

qs_status
qf_cuda_contains_device(qf_cuda_filter *filter, const uint64_t *fingerprint, size_t count,
						bool *found)
{
	return qf_cuda_contains(filter, fingerprint, count, found);
}

qs_status
qf_cuda_merge(qf_cuda_filter *into, const qf_cuda_filter *from)
{
	(void) into;
	(void) from;
	return QS_DEVICE_ERROR;
}

qs_status
qf_cuda_ones(qf_cuda_filter *filter, uint64_t *ones)
{
	(void) filter;
	(void) ones;
	return QS_DEVICE_ERROR;
}
