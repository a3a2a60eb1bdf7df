/*
 * sketch_cache.c
 *		Copies of stored sketches on devices, for lookups of many keys.
 *
 * A copy is named by where the value is stored (database, table, and number of
 * the value, which are never reused while it exists) together with its header
 * (parameters, total, checksum); or, for values that come from elsewhere, by
 * its header and a hash of all its bytes, which is keyed with a secret of this
 * server, so that nobody can make two values of one name.
 *
 * The worker may drop copies at any time; a lookup that finds its copy gone
 * loads the sketch anew.
 *
 * src/gpu/sketch_cache.c
 */
#include "gpu/sketch_gpu.h"
#include "gpu/sketch_client.h"
#include "gpu/settings.h"

#include "miscadmin.h"

bool
GpuWantsLookup(const qs_sketch *sk, size_t count)
{
	if (sk->form != QS_DENSE || !qs_has_table(&sk->params) || count == 0 || !GpuIsWanted())
		return false;
	return gpu_backend == BACKEND_GPU || (count >= gpu_min_keys && GpuIsLarge(&sk->params));
}

void
GpuKeyOfStored(const struct varatt_external *toast, const uint8 *header, GpuKey *key)
{
	memset(key, 0, sizeof(*key));
	key->family = GPU_FAMILY_SKETCH;
	memcpy(key->header, header, QS_HEADER_BYTES);
	key->kind = MyDatabaseId;
	key->id[0] = toast->va_toastrelid;
	key->id[1] = toast->va_valueid;
}

/* One lane of the hash: multiply and fold, 16 bytes at a time. */
static uint64
hash_lane(const uint8 *bytes, Size length, uint64 secret0, uint64 secret1)
{
	uint64 hash = secret0 ^ length;
	uint64 last[2] = { 0 };
	Size i;

	for (i = 0; i + 16 <= length; i += 16)
	{
		uint64 a = qs_load64(bytes + i) ^ hash ^ secret0;
		uint64 b = qs_load64(bytes + i + 8) ^ secret1;

		hash = qs_mul_high(a, b) ^ (a * b) ^ a;
	}
	memcpy(last, bytes + i, length - i);
	last[0] ^= hash ^ secret0;
	last[1] ^= secret1;
	return qs_mul_high(last[0], last[1]) ^ (last[0] * last[1]) ^ last[0];
}

void
GpuKeyOfBytes(const uint8 *bytes, Size length, GpuKey *key)
{
	const uint64 *secret = gpu_shared->secret;

	memset(key, 0, sizeof(*key));
	key->family = GPU_FAMILY_SKETCH;
	memcpy(key->header, bytes, QS_HEADER_BYTES);
	key->id[0] = hash_lane(bytes, length, secret[0], secret[1]);
	key->id[1] = hash_lane(bytes, length, secret[2], secret[3]);
}

/* Estimate keys from the copy of this name; false if there is none. */
bool
GpuLookupCached(const GpuKey *key, const uint64 *fingerprint, size_t count, int64 *estimate)
{
	GpuRef ref;
	bool found = GpuFindCached(key, &ref, NULL) && GpuLookup(&ref, fingerprint, count, estimate);

	if (found)
		GpuCount(COUNT_CACHE_HITS, 1);
	return found;
}

/*
 * Estimate keys from a sketch taken to a device, which stays there under this
 * name if there is one; false if there is no memory for it.
 */
bool
GpuLookupLoaded(const qs_sketch *sk, const GpuKey *key, const uint64 *fingerprint, size_t count,
				int64 *estimate)
{
	GpuRef ref;
	bool done;

	GpuCount(COUNT_CACHE_MISSES, 1);
	if (!GpuUpload(sk, &ref))
	{
		GpuCount(COUNT_FALLBACKS, 1);
		return false;
	}
	done = GpuLookup(&ref, fingerprint, count, estimate);
	if (key)
		GpuPublishEntry(&ref, key);
	GpuDropEntry(&ref);
	return done;
}

int
GpuOfCopy(const GpuKey *key)
{
	GpuRef ref;
	int device;

	if (GpuStateNow() != GPU_READY || !GpuFindCached(key, &ref, &device) || device < 0)
		return -1;
	return gpu_shared->device[device].number;
}
