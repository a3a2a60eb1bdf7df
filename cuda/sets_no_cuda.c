/*
 * sets_no_cuda.c
 *		The interface of sets_cuda.h where it was built without CUDA.
 *
 * Nothing can be opened, so these functions are never reached; they answer all
 * the same.  What only tests and benchmarks call is not here.
 *
 * cuda/sets_no_cuda.c
 */
#include <string.h>

#include "sets_cuda.h"

qs_status
qi_cuda_sets_create(qs_cuda *gpu, uint64_t sets, uint64_t elements, uint64_t universe,
					qi_cuda_sets **to)
{
	(void) gpu;
	(void) sets;
	(void) elements;
	(void) universe;
	*to = NULL;
	return QS_DEVICE_ERROR;
}

qs_status
qi_cuda_sets_put_offsets(qi_cuda_sets *s, uint64_t first, const uint64_t *offset, size_t count)
{
	(void) s;
	(void) first;
	(void) offset;
	(void) count;
	return QS_DEVICE_ERROR;
}

qs_status
qi_cuda_sets_put_elements(qi_cuda_sets *s, uint64_t first, const uint32_t *element, size_t count)
{
	(void) s;
	(void) first;
	(void) element;
	(void) count;
	return QS_DEVICE_ERROR;
}

qs_status
qi_cuda_sets_copy(qs_cuda *gpu, const qi_cuda_sets *from, qi_cuda_sets **to)
{
	(void) gpu;
	(void) from;
	*to = NULL;
	return QS_DEVICE_ERROR;
}

qs_status
qi_cuda_sets_index(qi_cuda_sets *s)
{
	(void) s;
	return QS_DEVICE_ERROR;
}

void
qi_cuda_limit(qs_cuda *gpu, uint64_t bytes)
{
	(void) gpu;
	(void) bytes;
}

void
qi_cuda_sets_destroy(qi_cuda_sets *s)
{
	(void) s;
}

uint64_t
qi_cuda_sets_bytes(const qi_cuda_sets *s)
{
	(void) s;
	return 0;
}

qs_status
qi_cuda_pairs_open(qs_cuda *gpu, const qi_cuda_request *request, qi_cuda_pairs **pairs)
{
	(void) gpu;
	(void) request;
	*pairs = NULL;
	return QS_DEVICE_ERROR;
}

void
qi_cuda_pairs_report(const qi_cuda_pairs *pairs, qi_cuda_report *report)
{
	(void) pairs;
	memset(report, 0, sizeof(*report));
}

uint64_t
qi_cuda_pairs_bytes(const qi_cuda_pairs *pairs)
{
	(void) pairs;
	return 0;
}

void
qi_cuda_pairs_rows(qi_cuda_pairs *pairs, uint64_t first, uint64_t end)
{
	(void) pairs;
	(void) first;
	(void) end;
}

qs_status
qi_cuda_pairs_start(qi_cuda_pairs *pairs)
{
	(void) pairs;
	return QS_DEVICE_ERROR;
}

qs_status
qi_cuda_pairs_ready(qi_cuda_pairs *pairs, bool *ready)
{
	(void) pairs;
	*ready = true;
	return QS_DEVICE_ERROR;
}

qs_status
qi_cuda_pairs_next(qi_cuda_pairs *pairs, qi_pair *out, uint64_t room, uint64_t *count, bool *over)
{
	(void) pairs;
	(void) out;
	(void) room;
	*count = 0;
	*over = true;
	return QS_DEVICE_ERROR;
}

void
qi_cuda_pairs_close(qi_cuda_pairs *pairs)
{
	(void) pairs;
}
