/*
 * no_cuda.c
 *		The interface of qs_cuda.h where it was built without CUDA.
 *
 * There is no device, so nothing can be opened, and the functions that need
 * something opened are never reached; they answer all the same.
 *
 * cuda/no_cuda.c
 */
#include "qs_cuda.h"

static const qs_cuda_error no_cuda = {
	.status = QS_DEVICE_ERROR, .name = "built without CUDA", /* no call failed */
};

int
qs_cuda_device_count(qs_cuda_error *error)
{
	*error = no_cuda;
	return 0;
}

qs_status
qs_cuda_device_get(int device, qs_cuda_device *info, qs_cuda_error *error)
{
	(void) device;
	memset(info, 0, sizeof(*info));
	*error = no_cuda;
	return QS_DEVICE_ERROR;
}

qs_status
qs_cuda_open(int device, const qs_cuda_options *options, qs_cuda **gpu, qs_cuda_error *error)
{
	(void) device;
	(void) options;
	*gpu = NULL;
	*error = no_cuda;
	return QS_DEVICE_ERROR;
}

void
qs_cuda_close(qs_cuda *gpu)
{
	(void) gpu;
}

const qs_cuda_error *
qs_cuda_last_error(const qs_cuda *gpu)
{
	(void) gpu;
	return &no_cuda;
}

void
qs_cuda_get_stats(const qs_cuda *gpu, qs_cuda_stats *stats)
{
	(void) gpu;
	memset(stats, 0, sizeof(*stats));
}

void
qs_cuda_set_bulk(qs_cuda *gpu, qs_cuda_bulk bulk)
{
	(void) gpu;
	(void) bulk;
}

void
qs_cuda_trim(qs_cuda *gpu)
{
	(void) gpu;
}

qs_status
qs_cuda_sync(qs_cuda *gpu)
{
	(void) gpu;
	return QS_DEVICE_ERROR;
}

void *
qs_cuda_stream(qs_cuda *gpu)
{
	(void) gpu;
	return NULL;
}

qs_status
qs_cuda_host_alloc(qs_cuda *gpu, size_t bytes, void **pointer)
{
	(void) gpu;
	(void) bytes;
	*pointer = NULL;
	return QS_DEVICE_ERROR;
}

void
qs_cuda_host_free(qs_cuda *gpu, void *pointer)
{
	(void) gpu;
	(void) pointer;
}

qs_status
qs_cuda_host_register(qs_cuda *gpu, void *pointer, size_t bytes)
{
	(void) gpu;
	(void) pointer;
	(void) bytes;
	return QS_DEVICE_ERROR;
}
