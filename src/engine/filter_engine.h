/*
 * filter_engine.h
 *		Engines that work on filters in batches, behind one table.
 *
 * This is for filters what sketch_engine.h is for sketches.  Every engine sets the
 * same bits.  Which bits a row sets depends only on its key, the nonce and its row
 * number, so rows may be given in any order and in batches of any size.
 *
 * An engine may keep the bits of a dense filter elsewhere, on a device: the filter
 * is then "remote".  Only insert() and merge() of the same engine work on a remote
 * filter, until materialize() has brought its bits back.  query() and contains() take
 * filters that are not remote.
 *
 * src/engine/filter_engine.h
 */
#ifndef QF_ENGINE_H
#define QF_ENGINE_H

#include "filter/filter.h"

/* How many rows to collect before an insert. */
#define QF_BATCH 4096

typedef struct qf_batch
{
	const uint64_t *fingerprint;
	size_t count;
	uint64_t nonce;

	/*
	 * Without ids, rows have consecutive numbers from first_row on, and each is
	 * inserted once.  Rows that may come twice have ids of their own, here; the
	 * filter then does not count rows.
	 */
	uint64_t first_row;
	const uint64_t *row;

	/* How often each row counts, 0 or more; NULL: once. */
	const int64_t *copies;
} qf_batch;

typedef struct qf_engine
{
	const char *name;

	/*
	 * QB_TOTAL_OVERFLOW leaves the filter unchanged; after QB_NO_MEMORY the filter
	 * must be dropped.  After a pause (memory.h) jumped out, inserting the batch
	 * again gives the result that it would have had.
	 */
	qb_status (*insert)(qf_filter *f, const qf_batch *batch);

	/*
	 * How many positions of each key are set; "count" is at most qf_keys_at_once().
	 * Works on views.
	 */
	void (*query)(const qf_filter *f, const uint64_t *fingerprint, size_t count, uint32_t *set);

	/* Are all positions of each key set?  Stops at a key's first zero. */
	void (*contains)(const qf_filter *f, const uint64_t *fingerprint, size_t count, bool *found);

	/* Does what qf_merge() does; "from" is not remote. */
	qb_status (*merge)(qf_filter *into, const qf_filter *from);

	/* Bring the bits back from the device; they stay here. */
	qb_status (*materialize)(qf_filter *f);

	/* How many rows to collect before an insert into this filter. */
	size_t (*batch)(const qf_filter *f);
} qf_engine;

extern const qf_engine qf_engine_cpu;

/*
 * The CPU engine's inner loops (filter/filter.h) with AVX2 or NEON, and with AVX-512, where
 * the processor is of such a kind; and the table in use, which qb_isa_use() changes.
 */
struct qf_kernels;
extern const struct qf_kernels qf_kernels_vector;
extern const struct qf_kernels qf_kernels_avx512;
extern const struct qf_kernels *qf_kernels_now(void);

/* Rows of a batch, counting copies; -1 if their number is out of range. */
extern int64_t qf_batch_rows(const qf_batch *batch);

#endif
