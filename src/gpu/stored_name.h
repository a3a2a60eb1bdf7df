/*
 * stored_name.h
 *		Names of stored values, by which copies of them on devices are found.
 *
 * src/gpu/stored_name.h
 */
#ifndef QS_GPU_NAMES_H
#define QS_GPU_NAMES_H

#include "gpu/shared.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* A value in a TOAST table, whose first bytes are "header". */
extern void GpuNameStored(GpuFamily family, const struct varatt_external *toast,
						  const uint8 *header, Size header_bytes, StoredName *key);

/* A value that is here; "header_bytes" of it are its header. */
extern void
GpuNameBytes(GpuFamily family, const uint8 *bytes, Size length, Size header_bytes, StoredName *key);

/* The number of the GPU that a copy of this name is on, or -1. */
extern int GpuOfCopy(const StoredName *key);

#endif
