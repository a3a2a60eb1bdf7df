/*
 * column_cuda.h
 *		Columns of tables in the memory of NVIDIA GPUs, and exact counts of their keys, behind
 *		a plain C interface.
 *
 * The worker inside PostgreSQL caches columns by chunk: the values as one array, and a bitmap of
 * NULLs if there are any.  It brings keys of them together in device memory, for
 * qs_cuda_insert_device() and the like.  Statuses and errors are as in qs_cuda.h.
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
		uint64_t to; /* where they go among the gathered keys */
	} qs_cuda_run;

	/* The most chunks whose rows one launch tests. */
#define QS_CUDA_CHUNKS_MAX 8

	/* Rows of a chunk whose keys are wanted, if they pass tests and are not NULL. */
	typedef struct qs_cuda_copy_rows
	{
		qs_cuda_copy *keys; /* the chunk whose keys are wanted */
		const qb_selection *tests;
		qs_cuda_copy *tested[QB_SELECTION_COLUMNS]; /* on the same device */
		bool no_keys;        /* rows are counted: each key is 0, and that of NULL, too */
		const qb_tile *tile; /* NULL: all rows from "first" on, which is the same in all columns */
		uint32_t tiles;
		uint32_t first;
		uint64_t rows; /* of all tiles */
	} qs_cuda_copy_rows;

	/* A tile, listed or not. */
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
		uint32_t most;      /* of them are wanted */
		uint32_t found;     /* most + 1: there are more, and the rest means nothing */
		uint64_t *distinct; /* room for "most" in host memory, as the next */
		int64_t *times;
	} qs_cuda_counts;

	/* Count distinct keys in device memory. */
	extern qb_status
	qs_cuda_keys_count(qs_cuda *gpu, const uint64_t *key, uint64_t count, qs_cuda_counts *counts);

	/*
	 * Which groups of keys have more than "most" distinct ones, at most QS_CUDA_COUNTS_MAX?
	 * The keys lie side by side by group in device memory, count[i] of the i-th.
	 */
	extern qb_status qs_cuda_keys_many(qs_cuda *gpu, const uint64_t *key, const uint64_t *count,
									   uint32_t groups, uint32_t most, bool *many);

	/*
	 * What a device does with cached columns.  Keys that were brought together stay until the
	 * next call for any chunk of the device.
	 */
	typedef struct qs_column_ops
	{
		/* A chunk without room; *copy is NULL after an error. */
		qb_status (*create)(qs_cuda *gpu, qs_cuda_copy **copy);
		void (*destroy)(qs_cuda_copy *copy);

		/* Change the room to so many values, of which the first "kept" stay. */
		qb_status (*resize)(qs_cuda_copy *copy, uint64_t room, uint64_t kept);

		/* Write values, which may change once this returns. */
		qb_status (*put)(qs_cuda_copy *copy, uint64_t first, const uint64_t *key, size_t count);

		/* Set the bitmap of NULLs, once. */
		qb_status (*put_nulls)(qs_cuda_copy *copy, const uint64_t *nulls, uint64_t words);

		/* The values of runs side by side in device memory.  It sets where each run goes. */
		qb_status (*gather)(qs_cuda_copy *copy, qs_cuda_run *run, uint32_t runs,
							const uint64_t **key);

		/*
		 * The keys of rows that pass, in any order; they stay as long as gathered ones.  The rows
		 * are of one chunk, or of several on one device with the same tests and "no_keys".
		 */
		qb_status (*select)(const qs_cuda_copy_rows *rows, uint32_t chunks, const uint64_t **key,
							uint64_t *count);

		/*
		 * The numbers of rows that pass and are not NULL, in any order, and beside each the
		 * number of a tested column in the same row, which the tests do not let be NULL.
		 */
		qb_status (*pairs)(const qs_cuda_copy_rows *rows, uint32_t tested, const uint64_t **key,
						   const uint64_t **pair, uint64_t *count);

		/*
		 * The same keys as of "select", side by side by group: of each group so many.  The
		 * groups are those of numbers in a tested column; rows of no group are left out.
		 */
		qb_status (*split)(const qs_cuda_copy_rows *rows, uint32_t chunks, const qb_groups *groups,
						   const uint64_t **key, uint64_t *count);

		/* Among gathered keys, and split ones. */
		__typeof__(qs_cuda_keys_count) *counts;
		__typeof__(qs_cuda_keys_many) *many;

		/* Its device memory. */
		uint64_t (*bytes)(const qs_cuda_copy *copy);
	} qs_column_ops;

	/*
	 * ---- exact counts of all keys of columns ----
	 *
	 * Keys come in batches, on several devices at the same time.  Then each device makes a list of
	 * its own distinct keys, and takes a range of the keys of all devices: it adds up what the lists have
	 * in that range, and orders these keys by how often they came.  Any of them can be fetched.
	 */

	typedef struct qs_cuda_exact qs_cuda_exact;

	/* Device memory for each key of the room, and the most room, in keys. */
#define QS_CUDA_EXACT_BYTES 32
#define QS_CUDA_EXACT_MAX   (UINT64_C(1) << 30)

	/* The most keys that are shown of a list, and the most ranges. */
#define QS_CUDA_SAMPLES    64
#define QS_CUDA_RANGES_MAX 16

	/* So many keys of a list of so many keys are shown. */
	static inline uint32_t
	qs_cuda_samples(uint64_t listed)
	{
		return listed < QS_CUDA_SAMPLES ? (uint32_t) listed : QS_CUDA_SAMPLES;
	}

	/* A part of a list, by places in it. */
	typedef struct qs_cuda_exact_part
	{
		qs_cuda_exact *exact;
		uint64_t first;
		uint64_t count;
	} qs_cuda_exact_part;

	/* What a device does for exact counts. */
	typedef struct qs_exact_ops
	{
		/*
		 * Counts of no keys.  So many keys are sorted at a time.  If more come, at most half as
		 * many may be distinct.
		 */
		qb_status (*create)(qs_cuda *gpu, uint64_t room, qs_cuda_exact **exact);
		void (*destroy)(qs_cuda_exact *exact);

		/*
		 * Add keys, before there is a list: from host memory, which may be reused on return, or from
		 * device memory.  QB_NO_MEMORY: more distinct keys than there is room for, and the
		 * counts mean nothing any more.
		 */
		qb_status (*add)(qs_cuda_exact *exact, const uint64_t *key, uint64_t count);
		qb_status (*add_device)(qs_cuda_exact *exact, const uint64_t *key, uint64_t count);

		/*
		 * Make the list of the keys that have come: distinct, sorted as signed numbers.  *listed is its
		 * length; qs_cuda_samples() of them at equal distances, from the first one on, are copied to
		 * "sample".
		 */
		qb_status (*list)(qs_cuda_exact *exact, uint64_t *listed, int64_t *sample);

		/* How many keys of the list are less than each of so many bounds, QS_CUDA_RANGES_MAX at most? */
		qb_status (*find)(qs_cuda_exact *exact, const int64_t *bound, uint32_t bounds,
						  uint64_t *place);

		/*
		 * Add up the parts of all lists that have the same range of keys, one in a call, and that of the
		 * own list first.  Lists of other devices are only read, and one list may be read by several
		 * devices at the same time.  QB_NO_MEMORY: the parts do not fit beside the own list.
		 */
		qb_status (*join)(qs_cuda_exact *exact, const qs_cuda_exact_part *part);

		/*
		 * Order what was added up, once: the most frequent key first, and of equally frequent ones the
		 * smallest first.  *found is how many there are.  After this the own list may
		 * be sorted in another way in that range, which no other device reads.
		 */
		qb_status (*order)(qs_cuda_exact *exact, uint64_t *found);

		/* Fetch keys of that order, and how often each came. */
		qb_status (*get)(qs_cuda_exact *exact, uint64_t first, uint64_t count, uint64_t *key,
						 int64_t *times);

		/* Its device memory. */
		uint64_t (*bytes)(const qs_cuda_exact *exact);
	} qs_exact_ops;

#ifdef __cplusplus
}
#endif

#endif
