/*
 * sets_cuda.h
 *		Collections of sets in the memory of NVIDIA GPUs, and searches for pairs of sets, behind a
 *		plain C interface.
 *
 * A qset_cuda_sets is a collection on a device: the elements of each set as numbers, as in
 * src/sets/collection.h, without ids and without the values of elements.  A qset_cuda_pairs is a
 * search for the pairs of sets that pass a filter.  Every method returns the pairs that
 * src/sets/pairs.h returns, in the order of src/sets/pairs.h.
 *
 * Limits: a collection has at most QSET_MAX_SETS sets, QSET_MAX_UNIVERSE distinct elements, and
 * 2^32 - 2 elements of all sets together (QB_TOO_MANY).  Collections and the methods' tables must
 * fit into the device's memory (QB_NO_MEMORY).
 *
 * Statuses and errors are as in qs_cuda.h.
 *
 * cuda/sets_cuda.h
 */
#ifndef QSET_SETS_CUDA_H
#define QSET_SETS_CUDA_H

#include "qs_cuda.h"

#ifdef __cplusplus
extern "C"
{
#endif

#include "sets/pairs.h"

	typedef struct qset_cuda_sets qset_cuda_sets;
	typedef struct qset_cuda_pairs qset_cuda_pairs;

	/* Create a collection whose arrays are written later; *to is NULL after an error. */
	extern qb_status qset_cuda_sets_create(qs_cuda *gpu, uint64_t sets, uint64_t elements,
										   uint64_t universe, qset_cuda_sets **to);

	/*
	 * Write slices of the arrays of src/sets/collection.h, from index "first" on.  Offsets must be
	 * written in ascending order.  Two collections that are compared must have equal numbers for
	 * equal elements (qset_collection_join()).
	 */
	extern qb_status qset_cuda_sets_put_offsets(qset_cuda_sets *s, uint64_t first,
												const uint64_t *offset, size_t count);
	extern qb_status qset_cuda_sets_put_elements(qset_cuda_sets *s, uint64_t first,
												 const uint32_t *element, size_t count);

	/* Copy a collection from any device to "gpu", with its index if it has one. */
	extern qb_status
	qset_cuda_sets_copy(qs_cuda *gpu, const qset_cuda_sets *from, qset_cuda_sets **to);

	/*
	 * Make the collection's index.  Without this call the first search that has the collection as
	 * columns makes the index.
	 */
	extern qb_status qset_cuda_sets_index(qset_cuda_sets *s);

	extern void qset_cuda_sets_destroy(qset_cuda_sets *s);

	/* Return the bytes of device memory of a collection and its index. */
	extern uint64_t qset_cuda_sets_bytes(const qset_cuda_sets *s);

	typedef enum qset_product
	{
		QSET_PRODUCT_AUTO,   /* tensor cores if they can multiply bits */
		QSET_PRODUCT_POPC,   /* population counts */
		QSET_PRODUCT_TENSOR, /* tensor cores */
	} qset_product;

	typedef struct qset_cuda_request
	{
		qset_cuda_sets *rows;
		qset_cuda_sets *columns; /* NULL: pairs within rows */
		qset_filter filter;
		int method;         /* qset_method */
		int variant;        /* qset_variant, for the method bitmap */
		bool directed;      /* within one collection: both (a, b) and (b, a); implied by top */
		uint64_t first_row; /* first row to search */
		uint64_t row_count; /* number of rows to search; 0: all from first_row on */
		uint64_t heavy;     /* hybrid: least degree of elements with columns of bits; 0: by cost */
		qset_product product; /* for tests */
		uint64_t strip_rows;  /* limit of a strip's rows, rounded to tiles; 0: by memory and time */
		uint64_t pair_room;   /* capacity for pairs, at least the number of columns; 0: default */
	} qset_cuda_request;

	/* Statistics of a search.  Times are in ms, and all but expected_ms are measured. */
	typedef struct qset_cuda_report
	{
		int method;
		uint64_t heavy_degree; /* hybrid: least degree of elements with columns of bits */
		uint64_t heavy;        /* number of elements with columns of bits */
		uint64_t strips;       /* number of strips that the search has started */
		double expected_ms;    /* estimated before the search, for all rows */
		double index_ms;       /* to make the index; 0: the collection already had it */
		double product_ms;     /* to make bit matrices, and to compute the counts of strips */
		double rows_ms;        /* to add lists, and to filter */
	} qset_cuda_report;

	extern qb_status
	qset_cuda_pairs_open(qs_cuda *gpu, const qset_cuda_request *request, qset_cuda_pairs **pairs);

	/* Return the bytes of device memory of a search. */
	extern uint64_t qset_cuda_pairs_bytes(const qset_cuda_pairs *pairs);

	/*
	 * Restrict the search to the rows from "first" to end - 1, and start their first strip without
	 * waiting.
	 */
	extern qb_status qset_cuda_pairs_begin(qset_cuda_pairs *pairs, uint64_t first, uint64_t end);

	/*
	 * Fetch the next pairs, at most "room", in the order of qset_job_next().  With "top", pairs
	 * are directed; see qset_finish_top().  A call waits for at most one strip, which takes up to
	 * about 50 ms, and for one piece of a strip.  It stops waiting for the strip when "patience"
	 * returns false.  A call may return no pairs although the search is not over.
	 */
	extern qb_status
	qset_cuda_pairs_wait(qset_cuda_pairs *pairs, bool (*patience)(void), qset_pair *out,
						 uint64_t room, uint64_t *count, bool *over);

	extern void qset_cuda_pairs_report(const qset_cuda_pairs *pairs, qset_cuda_report *report);
	extern void qset_cuda_pairs_close(qset_cuda_pairs *pairs);

	/*
	 * Operations on collections and searches.  A collection must exist as long as searches use it.
	 */
	typedef struct qset_sets_ops
	{
		__typeof__(qset_cuda_sets_create) *create;
		__typeof__(qset_cuda_sets_copy) *copy;
		__typeof__(qset_cuda_sets_destroy) *destroy;
		__typeof__(qset_cuda_sets_put_offsets) *put_offsets;
		__typeof__(qset_cuda_sets_put_elements) *put_elements;
		__typeof__(qset_cuda_sets_index) *index;
		__typeof__(qset_cuda_sets_bytes) *bytes;
		__typeof__(qset_cuda_pairs_open) *search;
		__typeof__(qset_cuda_pairs_close) *end;
		__typeof__(qset_cuda_pairs_bytes) *search_bytes;
		__typeof__(qset_cuda_pairs_report) *report;
		__typeof__(qset_cuda_pairs_begin) *begin;
		__typeof__(qset_cuda_pairs_wait) *next;
	} qset_sets_ops;

	/*
	 * ---- rows (set id, element), and the collection made of them ----
	 *
	 * Rows are added in batches, in any order and with duplicates.  sort() sorts the rows and
	 * removes duplicates, which results in the arrays of src/sets/collection.h.  A qset_cuda_sets
	 * can be made of these arrays on the device, and the arrays can be fetched.  Elements are
	 * integers, ordered as signed numbers.
	 */

	typedef struct qset_cuda_memberships qset_cuda_memberships;

	/*
	 * Largest number of rows.  Other requests wait until all rows are sorted, and this limit bounds
	 * their wait.
	 */
#define QSET_CUDA_MEMBERS_MAX (UINT64_C(1) << 27)

	typedef struct qset_cuda_sizes
	{
		uint64_t sets;
		uint64_t elements;
		uint64_t universe;
	} qset_cuda_sizes;

	typedef enum qset_cuda_array
	{
		QSET_CUDA_ROW_IDS,      /* int64 ids of the rows, before sort() */
		QSET_CUDA_ROW_ELEMENTS, /* uint64 elements of the rows, before sort() */
		QSET_CUDA_IDS,          /* int64 ids of the sets, after sort() */
		QSET_CUDA_OFFSETS,      /* uint64 offsets of the sets, after sort() */
		QSET_CUDA_RANKS,        /* uint32 numbers of the sets' elements, after sort() */
		QSET_CUDA_VALUES        /* uint64 values of the elements, after sort() */
	} qset_cuda_array;

	/* Operations on rows. */
	typedef struct qset_members_ops
	{
		qb_status (*create)(qs_cuda *gpu, qset_cuda_memberships **memberships);
		void (*destroy)(qset_cuda_memberships *memberships);

		/*
		 * Add rows, before sort().  add() reads host memory, which may be reused on return;
		 * add_device() reads the memory of a device.  After QB_NO_MEMORY the rows are unchanged.
		 */
		qb_status (*add)(qset_cuda_memberships *memberships, const int64_t *id,
						 const uint64_t *element, uint64_t count);
		qb_status (*add_device)(qset_cuda_memberships *memberships, qs_cuda *from,
								const int64_t *id, const uint64_t *element, uint64_t count);

		/* Return the number of rows that were added, with duplicates. */
		uint64_t (*rows)(const qset_cuda_memberships *memberships);

		/* Sort the rows and remove duplicates.  After QB_NO_MEMORY the rows are unchanged. */
		qb_status (*sort)(qset_cuda_memberships *memberships, qset_cuda_sizes *sizes);

		/* Copy a slice of an array to host memory. */
		qb_status (*get)(const qset_cuda_memberships *memberships, qset_cuda_array array,
						 uint64_t first, uint64_t count, void *to);

		/* Return the bytes of device memory that the rows use, or after sort() the collection. */
		uint64_t (*bytes)(const qset_cuda_memberships *memberships);

		/* Make a collection of the sorted rows, on their device; *to is NULL after an error. */
		qb_status (*make)(const qset_cuda_memberships *memberships, qset_cuda_sets **to);
	} qset_members_ops;

#ifdef __cplusplus
}
#endif

#endif
