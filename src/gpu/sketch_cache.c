/*
 * sketch_cache.c
 *		Copies of stored sketches on devices, for lookups of many keys.
 *
 * Their names (stored_name.c) begin with the header: parameters, total, checksum.
 *
 * The worker may drop copies at any time; a lookup that finds its copy gone
 * loads the sketch anew.
 *
 * src/gpu/sketch_cache.c
 */
#include "gpu/stored_name.h"
#include "gpu/sketch_gpu.h"
#include "gpu/sketch_client.h"
#include "gpu/settings.h"

bool
GpuSketchWantsLookup(const qs_sketch *sk, size_t count)
{
	if (sk->form != QS_DENSE || !qs_has_table(&sk->params) || count == 0 || !GpuIsWanted())
		return false;
	return device_setting == DEVICE_GPU || (count >= gpu_min_keys && GpuSketchIsLarge(&sk->params));
}

void
GpuSketchNameStored(const struct varatt_external *toast, const uint8 *header, StoredName *key)
{
	GpuNameStored(GPU_FAMILY_SKETCH, toast, header, QS_HEADER_BYTES, key);
}

void
GpuSketchNameBytes(const uint8 *bytes, Size length, StoredName *key)
{
	GpuNameBytes(GPU_FAMILY_SKETCH, bytes, length, QS_HEADER_BYTES, key);
}

/* Estimate keys from the copy of this name; false if there is none. */
bool
GpuSketchLookupCached(const StoredName *key, const uint64 *fingerprint, size_t count,
					  int64 *estimate)
{
	GpuRef ref;
	bool found =
		GpuFindCached(key, &ref, NULL) && GpuSketchLookup(&ref, fingerprint, count, estimate);

	if (found)
		GpuCount(COUNT_CACHE_HITS, 1);
	return found;
}

/*
 * Estimate keys from a sketch taken to a device, which stays there under this
 * name if there is one; false if there is no memory for it.
 */
bool
GpuSketchLookupLoaded(const qs_sketch *sk, const StoredName *key, const uint64 *fingerprint,
					  size_t count, int64 *estimate)
{
	GpuRef ref;
	bool done;

	GpuCount(COUNT_CACHE_MISSES, 1);
	if (!GpuSketchUpload(sk, &ref))
	{
		GpuCount(COUNT_FALLBACKS, 1);
		return false;
	}
	done = GpuSketchLookup(&ref, fingerprint, count, estimate);
	if (key)
		GpuPublishEntry(&ref, key);
	GpuDropEntry(&ref);
	return done;
}
