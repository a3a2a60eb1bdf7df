/*
 * sets_members_cuda.c
 *		Rows of a collection of sets on a GPU: the worker's operations on the CUDA engine.
 *
 * The engine checks the limit before each allocation.
 *
 * src/gpu/sets_members_cuda.c
 */
#include "gpu/cuda.h"
#include "gpu/sets_members_device.h"

#include "sets_members_cuda.h"

StaticAssertDecl(GPU_MEMBERS_MAX <= QSET_CUDA_MEMBERS_MAX, "the engine takes fewer rows");

typedef struct Members
{
	GpuCudaDevice *device;
	qset_cuda_members *members;
} Members;

/* The rows, with the limit of memory that the settings have now. */
static qset_cuda_members *
limited(const Members *m)
{
	qset_cuda_limit(m->device->gpu, GpuCudaLimit(m->device));
	return m->members;
}

static qb_status
cuda_create(void *device, void **members)
{
	Members *m = calloc(1, sizeof(Members));
	qb_status status = QB_NO_MEMORY;

	*members = NULL;
	if (m)
	{
		m->device = device;
		status = qset_cuda_members_create(m->device->gpu, &m->members);
	}
	if (status == QB_OK)
		*members = m;
	else
		free(m);
	return status;
}

static void
cuda_destroy(void *members)
{
	qset_cuda_members_destroy(((Members *) members)->members);
	free(members);
}

static qb_status
cuda_add(void *members, const int64 *id, const uint64 *element, size_t count)
{
	return qset_cuda_members_add(limited(members), id, element, count);
}

static qb_status
cuda_add_device(void *members, const int64 *id, const uint64 *element, size_t count)
{
	return qset_cuda_members_add_device(limited(members), id, element, count);
}

static uint64
cuda_rows(const void *members)
{
	return qset_cuda_members_rows(((const Members *) members)->members);
}

static qb_status
cuda_sort(void *members, GpuMembersSizes *sizes)
{
	qset_cuda_sizes made;
	qb_status status = qset_cuda_members_sort(limited(members), &made);

	if (status == QB_OK)
		*sizes = (GpuMembersSizes){ .sets = made.sets,
									.elements = made.elements,
									.universe = made.universe };
	return status;
}

static qb_status
cuda_get(void *members, GpuMembersArray array, uint64 first, size_t count, void *to)
{
	static const qset_cuda_array arrays[] = {
		[MEMBERS_ROW_IDS] = QSET_CUDA_ROW_IDS, [MEMBERS_ROW_ELEMENTS] = QSET_CUDA_ROW_ELEMENTS,
		[MEMBERS_IDS] = QSET_CUDA_IDS,         [MEMBERS_OFFSETS] = QSET_CUDA_OFFSETS,
		[MEMBERS_RANKS] = QSET_CUDA_RANKS,     [MEMBERS_VALUES] = QSET_CUDA_VALUES,
	};

	return qset_cuda_members_get(((Members *) members)->members, arrays[array], first, count, to);
}

static uint64
cuda_bytes(const void *members)
{
	return qset_cuda_members_bytes(((const Members *) members)->members);
}

const GpuMembersDeviceOps gpu_cuda_members = {
	.create = cuda_create,
	.destroy = cuda_destroy,
	.add = cuda_add,
	.add_device = cuda_add_device,
	.rows = cuda_rows,
	.sort = cuda_sort,
	.get = cuda_get,
	.bytes = cuda_bytes,
};

/* ---- for sets_cuda.c ---- */

qb_status
GpuCudaMakeSets(void *members, qset_cuda_sets **sets)
{
	return qset_cuda_sets_make(limited(members), sets);
}
