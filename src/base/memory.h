/*
 * memory.h
 *		The caller's memory, as functions without an allocator of their own see it.
 *
 * src/base/memory.h
 */
#ifndef QS_MEMORY_H
#define QS_MEMORY_H

#include "base/port.h"

/* alloc returns zeroed bytes, aligned to 8 and from 4 kB on to 64, or NULL. */
typedef struct qs_memory
{
	void *(*alloc)(void *context, size_t bytes);
	void (*release)(void *context, void *pointer);
	void *context;
} qs_memory;

#endif
