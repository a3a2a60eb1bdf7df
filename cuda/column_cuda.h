/*
 * column_cuda.h
 *		Columns of tables in the memory of NVIDIA GPUs, and exact counts of their keys, behind
 *		a plain C interface.
 *
 * The worker inside PostgreSQL caches columns by chunk: the values as one array, and a bitmap of
 * NULLs if there are any.  It brings keys of several chunks together in device memory, as input for
 * qs_cuda_insert_device() and similar functions.  Statuses and errors are as in qs_cuda.h.
 *
 * cuda/column_cuda.h
 */
#ifndef QS_COLUMN_CUDA_H
#define QS_COLUMN_CUDA_H

#include "qs_cuda.h"

#include "base/selection.h"

#ifdef __cplusplus
extern "C"
{
#endif

	/* A chunk of a cached column. */
	typedef struct qs_cuda_copy qs_cuda_copy;

	/* Values that lie side by side. */
	typedef struct qs_cuda_run
	{
		uint64_t first;
		uint64_t count;
		uint64_t to; /* their place among the gathered keys */
	} qs_cuda_run;

	/* The most chunks whose rows one launch tests. */
#define QS_CUDA_CHUNKS_MAX 8

	/* Rows of a chunk whose keys are wanted, if they pass tests and are not NULL. */
	typedef struct qs_cuda_copy_rows
	{
		qs_cuda_copy *keys; /* the column of keys */
		const qb_selection *tests;
		qs_cuda_copy *tested[QB_SELECTION_COLUMNS]; /* the tested columns, on the same device */
		bool no_keys;        /* rows are only counted: every key is 0, also of NULL */
		const qb_tile *tile; /* NULL: all rows from "first" on, the same rows in all columns */
		uint32_t tiles;
		uint32_t first;
		uint64_t rows; /* rows of all tiles */
	} qs_cuda_copy_rows;

	/* A tile by its number, from the list or, without a list, computed. */
	static inline qb_tile
	qs_cuda_tile(const qs_cuda_copy_rows *rows, uint32_t number)
	{
		uint32_t before = number * QB_TILE_ROWS;
		qb_tile tile;

		if (rows->tile)
			return rows->tile[number];
		tile.rows = QB_TILE_ROWS;
		if (rows->rows - before < QB_TILE_ROWS)
			tile.rows = (uint32_t) rows->rows - before;
		for (int i = 0; i <= QB_SELECTION_COLUMNS; i++)
			tile.first[i] = rows->first + before;
		return tile;
	}

	/* The rows of several chunks. */
	static inline uint64_t
	qs_cuda_rows_of(const qs_cuda_copy_rows *rows, uint32_t chunks)
	{
		uint64_t all = 0;

		for (uint32_t i = 0; i < chunks; i++)
			all += rows[i].rows;
		return all;
	}

	/* The most distinct keys that can be counted. */
#define QS_CUDA_COUNTS_MAX 4096

	/* Distinct keys, in no order, and how often each came. */
	typedef struct qs_cuda_counts
	{
		uint32_t most;      /* the most distinct keys that are wanted */
		uint32_t found;     /* most + 1: there are more, and the rest means nothing */
		uint64_t *distinct; /* in host memory, with room for "most" elements, as the next array */
		int64_t *times;
	} qs_cuda_counts;

	/* Count distinct keys in device memory. */
	extern qb_status
	qs_cuda_keys_count(qs_cuda *gpu, const uint64_t *key, uint64_t count, qs_cuda_counts *counts);

	/*
	 * Find the groups of keys that have more than "most" distinct keys; "most" is at most
	 * QS_CUDA_COUNTS_MAX.  The keys lie side by side by group in device memory, count[i] keys in
	 * group i.
	 */
	extern qb_status qs_cuda_keys_many(qs_cuda *gpu, const uint64_t *key, const uint64_t *count,
									   uint32_t groups, uint32_t most, bool *many);

	/*
	 * What a device does with cached columns.  Keys that a call brought together stay until the
	 * next call for any chunk of the device.
	 */
	typedef struct qs_column_ops
	{
		/* A chunk without room; *copy is NULL after an error. */
		qb_status (*create)(qs_cuda *gpu, qs_cuda_copy **copy);
		void (*destroy)(qs_cuda_copy *copy);

		/* Change the room to "room" values, and keep the first "kept" values. */
		qb_status (*resize)(qs_cuda_copy *copy, uint64_t room, uint64_t kept);

		/* Write values.  The caller may change its array after the return. */
		qb_status (*put)(qs_cuda_copy *copy, uint64_t first, const uint64_t *key, size_t count);

		/* Set the bitmap of NULLs, once. */
		qb_status (*put_nulls)(qs_cuda_copy *copy, const uint64_t *nulls, uint64_t words);

		/* Copy the values of runs side by side into device memory.  Sets the place of each run. */
		qb_status (*gather)(qs_cuda_copy *copy, qs_cuda_run *run, uint32_t runs,
							const uint64_t **key);

		/*
		 * The keys of rows that pass, in any order.  They stay as long as gathered keys.  The rows
		 * are in one chunk, or in several chunks of one device with equal tests and "no_keys".
		 */
		qb_status (*select)(const qs_cuda_copy_rows *rows, uint32_t chunks, const uint64_t **key,
							uint64_t *count);

		/*
		 * For each row that passes and is not NULL: its number, and in the array "pair" the number
		 * of a tested column in the same row.  The tests must exclude NULL in that column.  Pairs
		 * come in any order.
		 */
		qb_status (*pairs)(const qs_cuda_copy_rows *rows, uint32_t tested, const uint64_t **key,
						   const uint64_t **pair, uint64_t *count);

		/*
		 * The keys that "select" gives, but side by side by group; count[i] is the number of keys
		 * of group i.  A group has the rows with one number in a tested column.  Rows of no group
		 * are left out.
		 */
		qb_status (*split)(const qs_cuda_copy_rows *rows, uint32_t chunks, const qb_groups *groups,
						   const uint64_t **key, uint64_t *count);

		/* These functions take gathered or split keys. */
		__typeof__(qs_cuda_keys_count) *counts;
		__typeof__(qs_cuda_keys_many) *many;

		/* Device memory of the chunk. */
		uint64_t (*bytes)(const qs_cuda_copy *copy);
	} qs_column_ops;

	/*
	 * ---- exact counts of all keys of columns ----
	 *
	 * Several devices count at the same time.  Each device gets keys in batches, and makes a list
	 * of its own distinct keys.  Then each device takes one range of keys.  It adds up the counts
	 * that all lists have in this range, and orders the keys of the range by count.  Any slice of
	 * this order can be fetched.
	 */

	typedef struct qs_cuda_exact qs_cuda_exact;

	/* Bytes of device memory for each key of "room"; the most keys of "room". */
#define QS_CUDA_EXACT_BYTES 32
#define QS_CUDA_EXACT_MAX   (UINT64_C(1) << 30)

	/* The most sample keys of a list, and the most ranges. */
#define QS_CUDA_SAMPLES    64
#define QS_CUDA_RANGES_MAX 16

	/* Number of sample keys of a list of "listed" keys. */
	static inline uint32_t
	qs_cuda_samples(uint64_t listed)
	{
		return listed < QS_CUDA_SAMPLES ? (uint32_t) listed : QS_CUDA_SAMPLES;
	}

	/* A slice of a list, from one index to another. */
	typedef struct qs_cuda_exact_slice
	{
		qs_cuda_exact *exact;
		uint64_t first;
		uint64_t count;
	} qs_cuda_exact_slice;

	/* What a device does for exact counts. */
	typedef struct qs_exact_ops
	{
		/*
		 * Start without keys.  A sort takes "room" keys at a time.  If more keys come, at most room
		 * / 2 may be distinct.
		 */
		qb_status (*create)(qs_cuda *gpu, uint64_t room, qs_cuda_exact **exact);
		void (*destroy)(qs_cuda_exact *exact);

		/*
		 * Add keys, before list() is called.  Host memory may be reused on return.  QB_NO_MEMORY:
		 * there are more distinct keys than room for them.  The counts then mean nothing.
		 */
		qb_status (*add)(qs_cuda_exact *exact, const uint64_t *key, uint64_t count);
		qb_status (*add_device)(qs_cuda_exact *exact, const uint64_t *key, uint64_t count);

		/*
		 * Make the list of all distinct keys, sorted as signed numbers. *listed is its length.
		 * "sample" gets qs_cuda_samples() keys of the list at equal distances, beginning with the
		 * first key.
		 */
		qb_status (*list)(qs_cuda_exact *exact, uint64_t *listed, int64_t *sample);

		/*
		 * For each of at most QS_CUDA_RANGES_MAX bounds: the number of keys in the list that are
		 * less than the bound.
		 */
		qb_status (*find)(qs_cuda_exact *exact, const int64_t *bound, uint32_t bounds,
						  uint64_t *index);

		/*
		 * Add up the slices of all lists in one range of keys.  Each call adds one slice; the first
		 * call adds the slice of the device's own list.  Lists of other devices are only read, by
		 * several devices at the same time.  QB_NO_MEMORY: the slices do not fit beside the device's
		 * own list.
		 */
		qb_status (*join)(qs_cuda_exact *exact, const qs_cuda_exact_slice *slice);

		/*
		 * Order the keys that join() added up, once: the most frequent key first, and among equally
		 * frequent keys the smallest first. *found is the number of keys.  Afterwards the device's
		 * own list may be out of order within its range.  No other device reads that slice.
		 */
		qb_status (*order)(qs_cuda_exact *exact, uint64_t *found);

		/* Fetch keys of that order, and how often each came. */
		qb_status (*get)(qs_cuda_exact *exact, uint64_t first, uint64_t count, uint64_t *key,
						 int64_t *times);

		/* Device memory of the counts. */
		uint64_t (*bytes)(const qs_cuda_exact *exact);
	} qs_exact_ops;

#ifdef __cplusplus
}
#endif

#endif
