/*
 * stored_name.c
 *		Names of stored values, by which copies of them on devices are found.
 *
 * A copy is named by where the value is stored (database, table, and number of
 * the value, which are never reused while it exists) together with its header,
 * which the family's format begins with; or, for values that come from
 * elsewhere, by its header and a hash of all its bytes, which is keyed with a
 * secret of this server, so that nobody can make two values of one name.
 *
 * src/gpu/stored_name.c
 */
#include "gpu/stored_name.h"

#include "base/port.h"
#include "miscadmin.h"

/* A name without what tells values of equal headers apart. */
static void
start_name(GpuFamily family, const uint8 *header, Size header_bytes, StoredName *key)
{
	Assert(header_bytes <= sizeof(key->header));
	memset(key, 0, sizeof(*key));
	key->family = family;
	memcpy(key->header, header, header_bytes);
}

void
GpuNameStored(GpuFamily family, const struct varatt_external *toast, const uint8 *header,
			  Size header_bytes, StoredName *key)
{
	start_name(family, header, header_bytes, key);
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
		uint64 a = qb_load64(bytes + i) ^ hash ^ secret0;
		uint64 b = qb_load64(bytes + i + 8) ^ secret1;

		hash = qb_mul_high(a, b) ^ (a * b) ^ a;
	}
	memcpy(last, bytes + i, length - i);
	last[0] ^= hash ^ secret0;
	last[1] ^= secret1;
	return qb_mul_high(last[0], last[1]) ^ (last[0] * last[1]) ^ last[0];
}

void
GpuNameBytes(GpuFamily family, const uint8 *bytes, Size length, Size header_bytes, StoredName *key)
{
	const uint64 *secret = gpu_shared->secret;

	start_name(family, bytes, header_bytes, key);
	key->id[0] = hash_lane(bytes, length, secret[0], secret[1]);
	key->id[1] = hash_lane(bytes, length, secret[2], secret[3]);
}

int
GpuOfCopy(const StoredName *key)
{
	GpuRef ref;
	int device;

	if (GpuStateNow() != GPU_READY || !GpuFindCached(key, &ref, &device) || device < 0)
		return -1;
	return gpu_shared->device[device].number;
}
