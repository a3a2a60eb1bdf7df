/*
 * filter_cache.c
 *		Copies of stored filters on devices, for lookups of many keys.
 *
 * As those of sketches (sketch_cache.c).
 *
 * src/gpu/filter_cache.c
 */
#include "gpu/filter_client.h"
#include "gpu/filter_gpu.h"
#include "gpu/stored_name.h"
#include "gpu/settings.h"

/* Before the filter is known. */
bool
GpuFilterMayLookup(size_t count)
{
	return count > 0 && GpuIsWanted() && (device_setting == DEVICE_GPU || count >= gpu_min_keys);
}

bool
GpuFilterWantsLookup(const qf_filter *f, size_t count)
{
	if (f->form != QF_DENSE || !GpuFilterMayLookup(count))
		return false;
	return device_setting == DEVICE_GPU ||
		   qf_dense_size(&f->params) >= (uint64) gpu_min_size * 1024;
}

void
GpuFilterNameStored(const struct varatt_external *toast, const uint8 *header, StoredName *key)
{
	GpuNameStored(GPU_FAMILY_FILTER, toast, header, QF_HEADER_BYTES, key);
}

void
GpuFilterNameBytes(const uint8 *bytes, Size length, StoredName *key)
{
	GpuNameBytes(GPU_FAMILY_FILTER, bytes, length, QF_HEADER_BYTES, key);
}

bool
GpuFilterLookupCached(const StoredName *name, GpuFilterOp op, const uint64 *key, size_t count,
					  void *answer)
{
	GpuRef ref;
	bool found = GpuFindCached(name, &ref, NULL) && GpuFilterAsk(&ref, op, key, count, answer);

	if (found)
		GpuCount(COUNT_CACHE_HITS, 1);
	return found;
}

bool
GpuFilterLookupLoaded(const qf_filter *f, const StoredName *name, GpuFilterOp op, const uint64 *key,
					  size_t count, void *answer)
{
	GpuRef ref;
	bool done;

	GpuCount(COUNT_CACHE_MISSES, 1);
	if (!GpuFilterCreate(&f->params, &ref))
	{
		GpuCount(COUNT_FALLBACKS, 1);
		return false;
	}
	(void) GpuFilterSendBits(&ref, f);
	done = GpuFilterAsk(&ref, op, key, count, answer);
	if (name && done)
		GpuPublishEntry(&ref, name);
	GpuDropEntry(&ref);
	return done;
}
