/*
 * column_cuda.h
 *		Columns of tables in the memory of NVIDIA GPUs, and exact counts of their keys, behind
 *		a plain C interface.
 *
 * The worker inside PostgreSQL caches columns by chunk: the values as one array, and a bitmap of
 * NULLs if there are NULLs.  The worker gathers keys of one or several chunks into one array in
 * device memory, for qs_cuda_insert_device() and similar functions.  Statuses and errors are as in
 * qs_cuda.h.
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

	/* Neighbouring values of a chunk. */
	typedef struct qs_cuda_run
	{
		uint64_t first;
		uint64_t count;
		uint64_t to; /* index of the first value among the gathered keys */
	} qs_cuda_run;

	/* Largest number of chunks whose rows one launch tests. */
#define QS_CUDA_CHUNKS_MAX 8

	/* Rows of a chunk.  A call selects the rows that pass the tests and whose key is not NULL. */
	typedef struct qs_cuda_copy_rows
	{
		qs_cuda_copy *keys; /* the column of keys */
		const qb_selection *tests;
		qs_cuda_copy *tested[QB_SELECTION_COLUMNS]; /* tested columns, on the device of "keys" */
		bool no_keys;        /* only count rows: every key is 0, even if it is NULL */
		const qb_tile *tile; /* NULL: rows first .. first + rows - 1 of each column */
		uint32_t tiles;
		uint32_t first;
		uint64_t rows; /* rows of all tiles */
	} qs_cuda_copy_rows;

	/* Return tile "number": from the list of tiles, or computed if rows->tile is NULL. */
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

	/* Return the number of rows of several chunks. */
	static inline uint64_t
	qs_cuda_rows_of(const qs_cuda_copy_rows *rows, uint32_t chunks)
	{
		uint64_t all = 0;

		for (uint32_t i = 0; i < chunks; i++)
			all += rows[i].rows;
		return all;
	}

	/* Upper limit of qs_cuda_counts.most. */
#define QS_CUDA_COUNTS_MAX 4096

	/* Distinct keys, in no order, and how often each key occurs. */
	typedef struct qs_cuda_counts
	{
		uint32_t most;      /* largest number of distinct keys to count */
		uint32_t found;     /* number of distinct keys; most + 1: there are more than "most" */
		uint64_t *distinct; /* array of "most" keys in host memory; "times" has their counts */
		int64_t *times;
	} qs_cuda_counts;

	/*
	 * Count how often each distinct key occurs in an array in device memory.  If there are more
	 * than "most" distinct keys, the content of counts->distinct and counts->times is undefined.
	 */
	extern qb_status
	qs_cuda_keys_count(qs_cuda *gpu, const uint64_t *key, uint64_t count, qs_cuda_counts *counts);

	/*
	 * Set many[i] to whether group i has more than "most" distinct keys; "most" is at most
	 * QS_CUDA_COUNTS_MAX.  The keys are in device memory, ordered by group; group i has count[i]
	 * keys.
	 */
	extern qb_status qs_cuda_keys_many(qs_cuda *gpu, const uint64_t *key, const uint64_t *count,
									   uint32_t groups, uint32_t most, bool *many);

	/*
	 * Operations on cached columns.  Keys that a call returns stay valid until the next call for a
	 * chunk of the same device.
	 */
	typedef struct qs_column_ops
	{
		/* Create a chunk without memory; *copy is NULL after an error. */
		qb_status (*create)(qs_cuda *gpu, qs_cuda_copy **copy);
		void (*destroy)(qs_cuda_copy *copy);

		/* Allocate memory for "room" values, and keep the first "kept" values. */
		qb_status (*resize)(qs_cuda_copy *copy, uint64_t room, uint64_t kept);

		/* Write values from index "first" on.  The caller may change its array on return. */
		qb_status (*put)(qs_cuda_copy *copy, uint64_t first, const uint64_t *key, size_t count);

		/* Set the bitmap of NULLs.  Call this only once for a chunk. */
		qb_status (*put_nulls)(qs_cuda_copy *copy, const uint64_t *nulls, uint64_t words);

		/*
		 * Copy the values of runs one after another into device memory.  The function may change
		 * run[].to.  A single run is not copied: *key points into the chunk.
		 */
		qb_status (*gather)(qs_cuda_copy *copy, qs_cuda_run *run, uint32_t runs,
							const uint64_t **key);

		/*
		 * Copy the keys of the rows that pass, in any order.  Several chunks must be on one device,
		 * and have equal tests and equal "no_keys".
		 */
		qb_status (*select)(const qs_cuda_copy_rows *rows, uint32_t chunks, const uint64_t **key,
							uint64_t *count);

		/*
		 * Copy the keys of the rows that pass, and into "pair" the values of tested column "tested"
		 * in the same rows, in any order.  The tests must exclude NULL in this column.
		 */
		qb_status (*pairs)(const qs_cuda_copy_rows *rows, uint32_t tested, const uint64_t **key,
						   const uint64_t **pair, uint64_t *count);

		/*
		 * Copy the keys that "select" would copy, ordered by group; count[i] is the number of keys
		 * of group i.  A group consists of the rows with one value in a tested column.  Rows
		 * without a group are not copied.
		 */
		qb_status (*split)(const qs_cuda_copy_rows *rows, uint32_t chunks, const qb_groups *groups,
						   const uint64_t **key, uint64_t *count);

		/* These functions count gathered or split keys. */
		__typeof__(qs_cuda_keys_count) *counts;
		__typeof__(qs_cuda_keys_many) *many;

		/* Return the bytes of device memory of the chunk. */
		uint64_t (*bytes)(const qs_cuda_copy *copy);
	} qs_column_ops;

	/*
	 * ---- exact counts of all keys of columns ----
	 *
	 * Several devices count at the same time.  Each device receives keys in batches, and lists its
	 * distinct keys with their counts.  Then each device processes one range of keys: it adds up
	 * the counts of all lists in this range, and orders the keys by count.  Any slice of the
	 * ordered keys can be fetched.
	 */

	typedef struct qs_cuda_exact qs_cuda_exact;

	/* Bytes of device memory per key of "room" (see create), and the largest "room". */
#define QS_CUDA_EXACT_BYTES 32
#define QS_CUDA_EXACT_MAX   (UINT64_C(1) << 30)

	/* Largest number of sample keys of a list, and largest number of ranges. */
#define QS_CUDA_SAMPLES    64
#define QS_CUDA_RANGES_MAX 16

	/* Return the number of sample keys of a list of "listed" keys. */
	static inline uint32_t
	qs_cuda_samples(uint64_t listed)
	{
		return listed < QS_CUDA_SAMPLES ? (uint32_t) listed : QS_CUDA_SAMPLES;
	}

	/* A slice of a list: "count" keys from index "first" on. */
	typedef struct qs_cuda_exact_slice
	{
		qs_cuda_exact *exact;
		uint64_t first;
		uint64_t count;
	} qs_cuda_exact_slice;

	/* Operations of exact counts. */
	typedef struct qs_exact_ops
	{
		/*
		 * Create an empty count.  A sort processes at most "room" keys.  If more than "room" keys
		 * are added, at most room / 2 of them may be distinct.
		 */
		qb_status (*create)(qs_cuda *gpu, uint64_t room, qs_cuda_exact **exact);
		void (*destroy)(qs_cuda_exact *exact);

		/*
		 * Add keys from host memory or device memory, before list() is called.  Host memory may be
		 * reused on return.  QB_NO_MEMORY: there are too many distinct keys, or the workspace of a
		 * sort does not fit.  The counts are then invalid.
		 */
		qb_status (*add)(qs_cuda_exact *exact, const uint64_t *key, uint64_t count);
		qb_status (*add_device)(qs_cuda_exact *exact, const uint64_t *key, uint64_t count);

		/*
		 * List all distinct keys, sorted as signed numbers; *listed is their number.  "sample"
		 * receives qs_cuda_samples() keys of the list at equal distances, beginning with the first
		 * key.
		 */
		qb_status (*list)(qs_cuda_exact *exact, uint64_t *listed, int64_t *sample);

		/*
		 * Set index[i] to the number of listed keys that are less than bound[i], for at most
		 * QS_CUDA_RANGES_MAX bounds.
		 */
		qb_status (*find)(qs_cuda_exact *exact, const int64_t *bound, uint32_t bounds,
						  uint64_t *index);

		/*
		 * Add one slice to the sum of the device's range of keys.  The first call must add the
		 * slice of the device's own list.  Lists of other devices are only read; several devices
		 * may read a list at the same time.  QB_NO_MEMORY: the memory of "exact" is too small for
		 * its list and the sum, or the workspace of a merge does not fit.
		 */
		qb_status (*join)(qs_cuda_exact *exact, const qs_cuda_exact_slice *slice);

		/*
		 * Order the keys of the sum by descending count, and equal counts by ascending key.  Call
		 * this once; *found is the number of keys.  The call may reorder the slice of the device's
		 * list in the device's range.  No other device reads this slice.
		 */
		qb_status (*order)(qs_cuda_exact *exact, uint64_t *found);

		/* Fetch a slice of the ordered keys with their counts. */
		qb_status (*get)(qs_cuda_exact *exact, uint64_t first, uint64_t count, uint64_t *key,
						 int64_t *times);

		/* Return the bytes of device memory of the counts. */
		uint64_t (*bytes)(const qs_cuda_exact *exact);
	} qs_exact_ops;

#ifdef __cplusplus
}
#endif

#endif
