/*
 * filter.c
 *		Filters on an emulated device, which is the CPU.
 *
 * test/modules/qsketch_emulate/filter.c
 */
#include "emulate.h"

#include "engine/filter_engine.h"
#include "filter/filter.h"
#include "filter_cuda.h"

struct qf_cuda_filter
{
	qs_cuda *device;
	qf_filter filter; /* dense; filter.ones does not count bits from write() and unite() */
};

static qb_status
emulated_create(qs_cuda *device, const qf_params *params, qf_cuda_filter **filter)
{
	qf_cuda_filter *created = calloc(1, sizeof(*created));
	qb_status status = QB_NO_MEMORY;

	if (created)
	{
		created->device = device;
		qf_init(&created->filter, params, &created->device->memory);
		status = qf_make_dense(&created->filter);
	}
	*filter = status == QB_OK ? created : NULL;
	if (status != QB_OK)
		free(created);
	return status;
}

static void
emulated_destroy(qf_cuda_filter *filter)
{
	qf_free(&filter->filter);
	free(filter);
}

static qb_status
emulated_write(qf_cuda_filter *filter, uint64 offset, const uint8 *from, size_t bytes)
{
	memcpy(filter->filter.bits + offset, from, bytes);
	return QB_OK;
}

static qb_status
emulated_read(qf_cuda_filter *filter, const qs_cuda_piece *piece, int count)
{
	int i;

	for (i = 0; i < count; i++)
		memcpy(piece[i].to, filter->filter.bits + piece[i].offset, piece[i].bytes);
	return QB_OK;
}

static qb_status
emulated_unite(qf_cuda_filter *into, const qf_cuda_filter *from, uint64 offset, size_t bytes)
{
	size_t i;

	for (i = offset; i < offset + bytes; i++)
		into->filter.bits[i] |= from->filter.bits[i];
	gpu_emulated_wait();
	return QB_OK;
}

static qb_status
emulated_set(qf_cuda_filter *filter, const uint32 *position, size_t count)
{
	return qf_set(&filter->filter, position, count);
}

static qb_status
emulated_insert(qf_cuda_filter *filter, const qf_batch *batch)
{
	gpu_emulated_wait();
	return qf_engine_cpu.insert(&filter->filter, batch);
}

static qb_status
emulated_query(qf_cuda_filter *filter, const uint64 *key, size_t count, int64 *set)
{
	uint32 some[QF_CHUNK];
	size_t at, i;

	for (at = 0; at < count; at += QF_CHUNK)
	{
		size_t piece = Min(count - at, QF_CHUNK);

		qf_engine_cpu.query(&filter->filter, key + at, piece, some);
		for (i = 0; i < piece; i++)
			set[at + i] = some[i];
	}
	return QB_OK;
}

static qb_status
emulated_contains(qf_cuda_filter *filter, const uint64 *key, size_t count, bool *found)
{
	bool some[QF_CHUNK];
	size_t at;

	for (at = 0; at < count; at += QF_CHUNK)
	{
		size_t piece = Min(count - at, QF_CHUNK);

		qf_engine_cpu.contains(&filter->filter, key + at, piece, some);
		memcpy(found + at, some, piece * sizeof(bool));
	}
	return QB_OK;
}

static qb_status
emulated_ones(qf_cuda_filter *filter, uint64 *ones)
{
	const qf_filter *f = &filter->filter;

	*ones = qf_ones(f->bits, qf_words(&f->params));
	return QB_OK;
}

static uint64
emulated_bytes(const qf_cuda_filter *filter)
{
	return qf_words(&filter->filter.params) * 8;
}

const qf_filter_ops gpu_emulated_filters = {
	.create = emulated_create,
	.destroy = emulated_destroy,
	.write = emulated_write,
	.read = emulated_read,
	.unite = emulated_unite,
	.set = emulated_set,
	.insert = emulated_insert,
	.insert_device = emulated_insert,
	.query = emulated_query,
	.contains = emulated_contains,
	.ones = emulated_ones,
	.bytes = emulated_bytes,
};
