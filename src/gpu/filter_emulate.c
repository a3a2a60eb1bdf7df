/*
 * filter_emulate.c
 *		Filters on a device that is made of the CPU engine.
 *
 * src/gpu/filter_emulate.c
 */
#include "gpu/emulate.h"
#include "gpu/filter_device.h"

#include "engine/filter_engine.h"
#include "filter/kernels.h"

typedef struct Filter
{
	GpuEmulatedDevice *device;
	qf_filter filter; /* dense; bits that were written are not in its number of ones */
} Filter;

static qb_status
emulated_create(void *device, const qf_params *params, void **filter)
{
	Filter *made = calloc(1, sizeof(Filter));
	qb_status status = QB_NO_MEMORY;

	if (made)
	{
		made->device = device;
		qf_init(&made->filter, params, &made->device->memory);
		status = qf_make_dense(&made->filter);
	}
	*filter = status == QB_OK ? made : NULL;
	if (status != QB_OK)
		free(made);
	return status;
}

static void
emulated_destroy(void *filter)
{
	qf_free(&((Filter *) filter)->filter);
	free(filter);
}

static qb_status
emulated_write(void *filter, uint64 offset, const uint8 *from, size_t bytes)
{
	memcpy(((Filter *) filter)->filter.bits + offset, from, bytes);
	return QB_OK;
}

static qb_status
emulated_read(void *filter, uint64 offset, uint8 *to, size_t bytes)
{
	memcpy(to, ((Filter *) filter)->filter.bits + offset, bytes);
	return QB_OK;
}

static qb_status
emulated_set(void *filter, const uint32 *position, size_t count)
{
	return qf_set(&((Filter *) filter)->filter, position, count);
}

static qb_status
emulated_insert(void *filter, const qf_batch *batch)
{
	return qf_engine_cpu.insert(&((Filter *) filter)->filter, batch);
}

static qb_status
emulated_query(void *filter, const uint64 *key, size_t count, int64 *set)
{
	uint32 some[QF_CHUNK];
	size_t at, i;

	for (at = 0; at < count; at += QF_CHUNK)
	{
		size_t piece = Min(count - at, QF_CHUNK);

		qf_engine_cpu.query(&((Filter *) filter)->filter, key + at, piece, some);
		for (i = 0; i < piece; i++)
			set[at + i] = some[i];
	}
	return QB_OK;
}

static qb_status
emulated_contains(void *filter, const uint64 *key, size_t count, bool *found)
{
	bool some[QF_CHUNK];
	size_t at;

	for (at = 0; at < count; at += QF_CHUNK)
	{
		size_t piece = Min(count - at, QF_CHUNK);

		qf_engine_cpu.contains(&((Filter *) filter)->filter, key + at, piece, some);
		memcpy(found + at, some, piece * sizeof(bool));
	}
	return QB_OK;
}

static qb_status
emulated_ones(void *filter, uint64 *ones)
{
	const qf_filter *f = &((Filter *) filter)->filter;

	*ones = qf_ones(f->bits, qf_words(&f->params));
	return QB_OK;
}

static uint64
emulated_bytes(const void *filter)
{
	return qf_words(&((const Filter *) filter)->filter.params) * 8;
}

const GpuFilterDeviceOps gpu_emulated_filters = {
	.create = emulated_create,
	.destroy = emulated_destroy,
	.write = emulated_write,
	.read = emulated_read,
	.set = emulated_set,
	.insert = emulated_insert,
	.insert_device = emulated_insert,
	.query = emulated_query,
	.contains = emulated_contains,
	.ones = emulated_ones,
	.bytes = emulated_bytes,
};
