/*
 * cache.c
 *		Cached values: copies of stored values on devices, for lookups of many keys.  Their
 *		names, and lookups in them.
 *
 * The name of a cached value says where the value is stored (database, table, and number of
 * the value, which is never reused while the value exists), and has the value's
 * header.  A value that comes from elsewhere is named by its header and a hash of
 * all its bytes.  The hash is keyed with a secret of this server, so that nobody can
 * make two values of one name.
 *
 * Values that a query computes are many, and few of them come again.  So a small one stays
 * on the device only if this process looks it up for the second time.  A value that is short
 * enough to stand in its row looks like one that was computed.
 *
 * The worker may drop cached values at any time.  A lookup whose value is gone loads it
 * anew.
 *
 * src/gpu/cache.c
 */
#include "gpu/cache.h"
#include "gpu/client.h"
#include "gpu/gpu.h"
#include "gpu/settings.h"

#include "base/slot.h"
#include "miscadmin.h"
#include "pgbase/stored.h"

bool
GpuNameStored(const GpuStored *stored, Datum datum, StoredName *key)
{
	uint32 bytes = stored->header_bytes;
	struct varatt_external toast;

	Assert(bytes <= sizeof(key->header));
	memset(key, 0, sizeof(*key));
	if (!StoredRead(datum, 0, &bytes, key->header))
		return false;
	VARATT_EXTERNAL_GET_POINTER(toast, DatumGetPointer(datum));
	key->family = stored->family;
	key->kind = MyDatabaseId;
	key->id[0] = toast.va_toastrelid;
	key->id[1] = toast.va_valueid;
	return true;
}

void
GpuNameBytes(const GpuStored *stored, const uint8 *bytes, Size length, StoredName *key)
{
	const uint64 *secret = gpu_shared->secret;

	memset(key, 0, sizeof(*key));
	key->family = stored->family;
	memcpy(key->header, bytes, stored->header_bytes);
	key->id[0] = qb_hash_bytes(bytes, length, secret);
	key->id[1] = qb_hash_bytes(bytes, length, secret + 2);
}

int
GpuOfCached(const StoredName *key)
{
	GpuRef ref;
	int device;

	if (GpuStateNow() != GPU_READY || !GpuFindCached(key, &ref, &device) || device < 0)
		return -1;
	return gpu_shared->device[device].number;
}

bool
GpuMayLookup(size_t count)
{
	return count > 0 && GpuIsWanted() && (device_setting == DEVICE_GPU || count >= gpu_min_keys);
}

/* Look up in a value on a device; false if the value is gone. */
static bool
look_up(const GpuLookup *lookup, const GpuRef *ref)
{
	return GpuAskKeys(ref, lookup->op, lookup->key, lookup->count, lookup->answer,
					  lookup->answer_bytes);
}

bool
GpuLookupCached(const GpuLookup *lookup, const StoredName *name)
{
	GpuRef ref;
	bool found = GpuFindCached(name, &ref, NULL) && look_up(lookup, &ref);

	if (found)
		GpuCount(COUNT_CACHE_HITS, 1);
	return found;
}

/* Has this process looked up a value of this name before?  It knows the last ones. */
static bool
was_seen(const StoredName *name)
{
	static uint64 seen[GPU_CACHED_MAX];
	static int next = 0;
	int i;

	for (i = 0; i < lengthof(seen); i++)
		if (seen[i] == name->id[0])
			return true;
	seen[next++ % lengthof(seen)] = name->id[0];
	return false;
}

/* Is a value that was loaded worth keeping? */
static bool
is_worth_keeping(const GpuRef *ref, const StoredName *name)
{
	return name->kind != 0 ||
		   gpu_shared->handle[ref->index].bytes >= (uint64) gpu_min_size * 1024 || was_seen(name);
}

bool
GpuLookupLoaded(const GpuLookup *lookup, const void *value, const StoredName *name)
{
	GpuRef ref;
	bool done;

	GpuCount(COUNT_CACHE_MISSES, 1);
	if (!lookup->stored->load(value, &ref))
	{
		GpuCount(COUNT_FALLBACKS, 1);
		return false;
	}
	done = look_up(lookup, &ref);
	if (name && done && is_worth_keeping(&ref, name))
		GpuPublishHandle(&ref, name);
	GpuDropHandle(&ref);
	return done;
}
