/*
 * cache.h
 *		Cached values: copies of stored values on devices, for lookups of many keys.  Their
 *		names, and lookups in them.
 *
 * src/gpu/cache.h
 */
#ifndef QS_GPU_CACHE_H
#define QS_GPU_CACHE_H

#include "gpu/shared.h"
#include "pgbase/version.h"

/* What differs between the stored values of the families. */
typedef struct GpuStored
{
	GpuFamily family;
	Size header_bytes; /* of its format, which begins with a header */

	/* Take a value to a device; false if there is no memory for it.  NULL: has no lookups. */
	bool (*load)(const void *value, GpuRef *ref);
} GpuStored;

/* The name of a value in a TOAST table; false if it is shorter than a header. */
extern bool GpuNameStored(const GpuStored *stored, Datum datum, StoredName *key);

/* The name of a value whose bytes are all here. */
extern void GpuNameBytes(const GpuStored *stored, const uint8 *bytes, Size length, StoredName *key);

/* The number of the GPU that a cached value of this name is on, or -1. */
extern int GpuOfCached(const StoredName *key);

/* Keys to look up, and where their answers go. */
typedef struct GpuLookup
{
	const GpuStored *stored;
	int op; /* of the family */
	const uint64 *key;
	size_t count;
	void *answer;
	size_t answer_bytes; /* of each key */
} GpuLookup;

/* May a device look up so many keys?  The value is not known yet. */
extern bool GpuMayLookup(size_t count);

/* Look up in the cached value of this name; false if there is none. */
extern bool GpuLookupCached(const GpuLookup *lookup, const StoredName *name);

/*
 * Take a value to a device, and look up there.  The value stays there under its
 * name, or goes if "name" is NULL.  False if there is no memory for it.
 */
extern bool GpuLookupLoaded(const GpuLookup *lookup, const void *value, const StoredName *name);

#endif
