/*
 * column_worker.h
 *		Cached columns in the GPU worker, as request handlers of families see them.
 *
 * src/gpu/column_worker.h
 */
#ifndef QS_GPU_COLUMN_WORKER_H
#define QS_GPU_COLUMN_WORKER_H

#include "gpu/column_request.h"

/* Keys from whole pages of a chunk, in device memory until the next call. */
typedef struct GpuGathered
{
	int index; /* handle of the chunk */
	int device;
	const uint64 *key;
	uint64 count;
	uint32 end; /* all wanted pages before this one are in */
} GpuGathered;

/*
 * Gather keys that are wanted, from page "from" on: of whole pages, which have at most
 * "most" rows, or else of a single page.  QB_NO_MEMORY: the device has no room to
 * bring them together, or a chunk is gone.
 */
extern qb_status GpuColumnGather(int index, const GpuWanted *wanted, uint32 from, uint64 most,
								 GpuGathered *gathered);

/*
 * Only count the rows that are wanted, into "count".  Without tests all wanted pages are
 * counted at once.
 */
extern qb_status
GpuColumnGatherRows(int index, const GpuWanted *wanted, uint64 most, GpuGathered *gathered);

/* Gather keys side by side by group: of each group so many. */
extern qb_status
GpuColumnGatherGroups(int index, const GpuWanted *wanted, const qb_groups *groups, uint32 from,
					  uint64 most, GpuGathered *gathered, uint64 *count);

/*
 * Numbers that are not NULL, and beside each the number of the wanted pair's column in the
 * same row.  The tests leave out rows in which that is NULL.
 */
extern qb_status GpuColumnGatherPairs(int index, const GpuWanted *wanted, uint32 from, uint64 most,
									  GpuGathered *gathered, const uint64 **pair);

#endif
