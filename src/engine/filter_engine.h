/*
 * filter_engine.h
 *		The interface of engines, which insert rows into filters and look keys up, in batches.
 *
 * All engines set the same bits.  A row's bits depend only on its key, its number, its copies and
 * the nonce.  So callers may insert rows in any order and in batches of any size.
 *
 * A dense filter whose bits are on a device is "remote".  Only the engine that moved the bits to
 * the device accepts a remote filter.  query() and contains() accept no remote filter.
 * materialize() copies the bits back.
 *
 * src/engine/filter_engine.h
 */
#ifndef QF_ENGINE_H
#define QF_ENGINE_H

#include "filter/filter.h"

/* The number of rows to collect before an insert into a filter that is not remote. */
#define QF_BATCH 4096

typedef struct qf_batch
{
	const uint64_t *fingerprint;
	size_t count;
	uint64_t nonce;

	/*
	 * If "row" is NULL, the rows have consecutive numbers from first_row on, and each row is
	 * inserted only once.  Otherwise "row" has an id for each row, a row may be inserted twice, and
	 * the filter does not count rows.
	 */
	uint64_t first_row;
	const uint64_t *row;

	/* How many times each row counts, 0 or more; NULL: every row counts once. */
	const int64_t *copies;
} qf_batch;

typedef struct qf_engine
{
	const char *name;

	/*
	 * Insert a batch.  QB_TOTAL_OVERFLOW leaves the filter unchanged.  After QB_NO_MEMORY the
	 * caller must drop the filter.  If the pause function (base/status.h) ends the call by an
	 * error, the caller may insert the batch again, and gets the right result.
	 */
	qb_status (*insert)(qf_filter *f, const qf_batch *batch);

	/*
	 * Set set[i] to the number of key i's positions whose bits are set.  "count" is at most
	 * qf_keys_at_once().  The filter may be a view.
	 */
	void (*query)(const qf_filter *f, const uint64_t *fingerprint, size_t count, uint32_t *set);

	/*
	 * Set found[i] to true if the bits of all positions of key i are set, else to false.  An engine
	 * may stop at a key's first zero bit.
	 */
	void (*contains)(const qf_filter *f, const uint64_t *fingerprint, size_t count, bool *found);

	/* Merge as qf_merge() does.  "from" is not remote. */
	qb_status (*merge)(qf_filter *into, const qf_filter *from);

	/* Copy the bits back from the device.  The filter is then not remote. */
	qb_status (*materialize)(qf_filter *f);

	/* The number of rows to collect before an insert into this filter. */
	size_t (*batch)(const qf_filter *f);
} qf_engine;

extern const qf_engine qf_engine_cpu;

/*
 * The CPU engine's inner loops (filter/filter.h) for AVX2 or NEON, and for AVX-512.  A build has
 * the loops of its architecture.  qf_kernels_now() returns the table in use, which qb_isa_use()
 * chooses.
 */
struct qf_kernels;
extern const struct qf_kernels qf_kernels_vector;
extern const struct qf_kernels qf_kernels_avx512;
extern const struct qf_kernels *qf_kernels_now(void);

/*
 * Returns the number of rows of a batch, each counted as often as "copies" says; -1: the number
 * overflows.
 */
extern int64_t qf_batch_rows(const qf_batch *batch);

#endif
