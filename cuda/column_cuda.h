/*
 * column_cuda.h
 *		Arrays of keys in the memory of NVIDIA GPUs, behind a plain C interface.
 *
 * The worker inside PostgreSQL keeps columns of tables in them, for qs_cuda_insert_device()
 * and the like.  Statuses and errors are as in qs_cuda.h.
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

	/* Keys that lie side by side. */
	typedef struct qs_cuda_run
	{
		uint64_t first;
		uint64_t count;
		uint64_t to; /* where they go among the gathered keys */
	} qs_cuda_run;

	/* An array with room for so many keys; *key is NULL after an error. */
	extern qb_status qs_cuda_keys_create(qs_cuda *gpu, uint64_t room, uint64_t **key);
	extern void qs_cuda_keys_destroy(qs_cuda *gpu, uint64_t *key, uint64_t room);

	/* Copy keys within device memory, in order with all kernels. */
	extern qb_status
	qs_cuda_keys_copy(qs_cuda *gpu, uint64_t *to, const uint64_t *from, uint64_t count);

	/* Copy keys from and to host memory, and wait. */
	extern qb_status
	qs_cuda_keys_put(qs_cuda *gpu, uint64_t *to, const uint64_t *from, uint64_t count);
	extern qb_status
	qs_cuda_keys_get(qs_cuda *gpu, uint64_t *to, const uint64_t *from, uint64_t count);

	/*
	 * Copy the keys of runs side by side.  "run" is in host memory and may be reused on
	 * return; "buffer" is device memory for the runs.
	 */
	extern qb_status qs_cuda_keys_gather(qs_cuda *gpu, uint64_t *to, const uint64_t *from,
										 const qs_cuda_run *run, uint32_t runs, void *buffer);

	/* Values of a column in device memory. */
	typedef struct qs_cuda_column
	{
		const uint64_t *value;
		const uint64_t *null; /* a bit for each row; NULL: there are no NULLs */
	} qs_cuda_column;

	/* Rows whose keys are wanted, if they pass the tests and are not NULL. */
	typedef struct qs_cuda_rows
	{
		qb_selection tests;
		bool no_keys; /* rows are counted: each key is 0, and that of NULL, too */
		uint32_t tiles;
		qs_cuda_column key;
		qs_cuda_column tested[QB_SELECTION_COLUMNS];
	} qs_cuda_rows;

	/*
	 * Write the keys of rows that pass side by side, in any order, and wait for their
	 * number.  "tile" is in host memory; "buffer" is device memory for the tiles.
	 */
	extern qb_status qs_cuda_keys_select(qs_cuda *gpu, uint64_t *to, const qs_cuda_rows *rows,
										 const qb_tile *tile, void *buffer, uint64_t *count);

	/*
	 * The same, as the numbers that the column has, and beside each the number of a tested
	 * column in the same row.
	 */
	extern qb_status
	qs_cuda_keys_pairs(qs_cuda *gpu, uint64_t *to, uint64_t *pair, const qs_cuda_rows *rows,
					   uint32_t tested, const qb_tile *tile, void *buffer, uint64_t *count);

	/*
	 * Write the keys of rows that pass side by side by group: the keys of the first group,
	 * of which there are count[0], then those of the next.  Rows of no group are left out.
	 * "buffer" is device memory for QS_CUDA_SPLIT_WORDS words and then the tiles.
	 */
#define QS_CUDA_SPLIT_WORDS (3 * QB_GROUPS_MAX + 2)
	extern qb_status
	qs_cuda_keys_split(qs_cuda *gpu, uint64_t *to, const qs_cuda_rows *rows, const qb_tile *tile,
					   const qb_groups *groups, void *buffer, uint64_t *count);

	/* The most distinct keys that can be counted, and device memory for the table, in words. */
#define QS_CUDA_COUNTS_MAX   4096
#define QS_CUDA_COUNTS_WORDS (6 * QS_CUDA_COUNTS_MAX + 4)

	/*
	 * Count distinct keys, at most "most": "found" of them, in no order, and how often
	 * each came.  "found" is most + 1 if there are more; then the rest means nothing.
	 */
	extern qb_status
	qs_cuda_keys_count(qs_cuda *gpu, const uint64_t *key, uint64_t count, uint32_t most,
					   void *table, uint64_t *distinct, int64_t *times, uint32_t *found);

	/*
	 * Which groups of keys have more than "most" distinct ones, at most QS_CUDA_COUNTS_MAX?
	 * The keys lie side by side by group, count[i] of the i-th.  "memory" is device memory of
	 * so many words.
	 */
	extern uint64_t qs_cuda_many_words(uint32_t groups, uint32_t most);
	extern qb_status qs_cuda_keys_many(qs_cuda *gpu, const uint64_t *key, const uint64_t *count,
									   uint32_t groups, uint32_t most, void *memory, bool *many);

	/* ---- cached columns, by chunk: column_copies.cu ---- */

	/* The values of a column as one array, and a bitmap of NULLs if there are any. */
	typedef struct qs_cuda_copy qs_cuda_copy;

	/* An array without room; *copy is NULL after an error. */
	extern qb_status qs_cuda_copy_create(qs_cuda *gpu, qs_cuda_copy **copy);
	extern void qs_cuda_copy_destroy(qs_cuda_copy *copy);

	/* Change the room to so many values, of which the first "kept" stay. */
	extern qb_status qs_cuda_copy_resize(qs_cuda_copy *copy, uint64_t room, uint64_t kept);

	/* Write values, which may change once this returns. */
	extern qb_status
	qs_cuda_copy_put(qs_cuda_copy *copy, uint64_t first, const uint64_t *key, size_t count);

	/* Set the bitmap of NULLs, once. */
	extern qb_status
	qs_cuda_copy_put_nulls(qs_cuda_copy *copy, const uint64_t *nulls, uint64_t words);

	/*
	 * The values of these runs side by side in device memory, until the next
	 * call for any chunk of the device.  It sets where each run goes.
	 */
	extern qb_status
	qs_cuda_copy_gather(qs_cuda_copy *copy, qs_cuda_run *run, uint32_t runs, const uint64_t **key);

	/* Rows of a chunk whose keys are wanted, if they pass tests and are not NULL. */
	typedef struct qs_cuda_copy_rows
	{
		const qb_selection *tests;
		qs_cuda_copy *tested[QB_SELECTION_COLUMNS]; /* on the same device */
		bool no_keys; /* rows are counted: each key is 0, and that of NULL, too */
		const qb_tile *tile;
		uint32_t tiles;
		uint64_t rows; /* of all tiles */
	} qs_cuda_copy_rows;

	/* The keys of rows that pass, in any order, as long as gathered ones. */
	extern qb_status qs_cuda_copy_select(qs_cuda_copy *copy, const qs_cuda_copy_rows *rows,
										 const uint64_t **key, uint64_t *count);

	/*
	 * The numbers of rows that pass and are not NULL, in any order, and beside each the
	 * number of a tested column in the same row, which the tests do not let be NULL.
	 */
	extern qb_status
	qs_cuda_copy_pairs(qs_cuda_copy *copy, const qs_cuda_copy_rows *rows, uint32_t tested,
					   const uint64_t **key, const uint64_t **pair, uint64_t *count);

	/*
	 * The same keys, side by side by group: of each group so many.  The groups are those of
	 * numbers in a tested column.
	 */
	extern qb_status
	qs_cuda_copy_split(qs_cuda_copy *copy, const qs_cuda_copy_rows *rows, const qb_groups *groups,
					   const uint64_t **key, uint64_t *count);

	/*
	 * Count distinct keys among gathered ones: "found" keys, and how often each came, in
	 * any order.  "found" is "most" + 1 if there are more than "most".
	 */
	extern qb_status
	qs_cuda_copy_counts(qs_cuda_copy *copy, const uint64_t *key, size_t count, uint32_t most,
						uint64_t *distinct, int64_t *times, uint32_t *found);

	/* Which groups of split keys, count[i] of the i-th, have more than "most" distinct ones? */
	extern qb_status
	qs_cuda_copy_many(qs_cuda_copy *copy, const uint64_t *key, const uint64_t *count,
					  uint32_t groups, uint32_t most, bool *many);

	/* Its device memory. */
	extern uint64_t qs_cuda_copy_bytes(const qs_cuda_copy *copy);

	/* What a device does with cached columns. */
	typedef struct qs_column_ops
	{
		__typeof__(qs_cuda_copy_create) *create;
		__typeof__(qs_cuda_copy_destroy) *destroy;
		__typeof__(qs_cuda_copy_resize) *resize;
		__typeof__(qs_cuda_copy_put) *put;
		__typeof__(qs_cuda_copy_put_nulls) *put_nulls;
		__typeof__(qs_cuda_copy_gather) *gather;
		__typeof__(qs_cuda_copy_select) *select;
		__typeof__(qs_cuda_copy_pairs) *pairs;
		__typeof__(qs_cuda_copy_split) *split;
		__typeof__(qs_cuda_copy_counts) *counts;
		__typeof__(qs_cuda_copy_many) *many;
		__typeof__(qs_cuda_copy_bytes) *bytes;
	} qs_column_ops;

#ifdef __cplusplus
}
#endif

#endif
