/*
 * column_device.h
 *		What copies of columns ask of a device.
 *
 * A device holds the values of a copy as one array in its memory, and a bitmap of NULLs
 * if there are any.  Statuses are as in device.h.
 *
 * src/gpu/column_device.h
 */
#ifndef QS_GPU_COLUMN_DEVICE_H
#define QS_GPU_COLUMN_DEVICE_H

#include "gpu/device.h"

#include "base/selection.h"

/* Values that lie side by side. */
typedef struct GpuRun
{
	uint64 first;
	uint64 count;
} GpuRun;

/* Rows of a column whose keys are wanted, if they pass tests and are not NULL. */
typedef struct GpuColumnRows
{
	const qb_selection *tests;
	void *tested[QB_SELECTION_COLUMNS]; /* columns of the same device */
	bool no_keys;                       /* rows are counted: each key is 0, and that of NULL, too */
	const qb_tile *tile;
	int tiles;
	uint64 rows; /* of all tiles */
} GpuColumnRows;

typedef struct GpuColumnDeviceOps
{
	/* An array without room; *column is NULL on failure. */
	qb_status (*create)(void *device, void **column);
	void (*destroy)(void *column);

	/* Change the room to so many values, of which the first "kept" stay. */
	qb_status (*resize)(void *column, uint64 room, uint64 kept);

	/* Write values, which may change once this returns. */
	qb_status (*put)(void *column, uint64 first, const uint64 *key, size_t count);

	/* Set the bitmap of NULLs, once. */
	qb_status (*put_nulls)(void *column, const uint64 *nulls, uint64 words);

	/*
	 * The values of these runs side by side in device memory, until the next call for any
	 * column of the device.
	 */
	qb_status (*gather)(void *column, const GpuRun *run, int runs, const uint64 **key);

	/* The keys of rows that pass, in any order, as long as gathered ones. */
	qb_status (*select)(void *column, const GpuColumnRows *rows, const uint64 **key, uint64 *count);

	/*
	 * The numbers of rows that pass and are not NULL, in any order, and beside each the
	 * number of a tested column in the same row, which the tests do not let be NULL.
	 */
	qb_status (*pairs)(void *column, const GpuColumnRows *rows, uint32 tested, const uint64 **key,
					   const uint64 **pair, uint64 *count);

	/*
	 * The same keys, side by side by group: of each group so many.  The groups are those of
	 * numbers in a tested column.
	 */
	qb_status (*split)(void *column, const GpuColumnRows *rows, const qb_groups *groups,
					   const uint64 **key, uint64 *count);

	/* Copy gathered keys from device memory. */
	qb_status (*fetch)(void *column, const uint64 *key, size_t count, uint64 *to);

	/*
	 * Count distinct keys among gathered ones: "found" keys, and how often each came, in
	 * any order.  "found" is "most" + 1 if there are more than "most".
	 */
	qb_status (*counts)(void *column, const uint64 *key, size_t count, int most, uint64 *distinct,
						int64 *times, int *found);

	/* Which groups of split keys, count[i] of the i-th, have more than "most" distinct ones? */
	qb_status (*many)(void *column, const uint64 *key, const uint64 *count, uint32 groups, int most,
					  bool *many);

	/* Its device memory. */
	uint64 (*bytes)(const void *column);
} GpuColumnDeviceOps;

#endif
