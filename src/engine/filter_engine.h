/*
 * filter_engine.h
 *		Engines that work on filters in batches, behind one table.
 *
 * This is the counterpart of sketch_engine.h.  All engines set the same bits.  Which bits a row
 * sets depends only on its key, the nonce and its row number, so rows may be given in any order and
 * in batches of any size.
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

/* The number of rows to collect before an insert. */
#define QF_BATCH 4096

typedef struct qf_batch
{
	const uint64_t *fingerprint;
	size_t count;
	uint64_t nonce;

	/*
	 * Without ids (NULL), rows have consecutive numbers from first_row on, and each is inserted
	 * once.  Rows that may be inserted twice have ids here, and the filter then does not count
	 * rows.
	 */
	uint64_t first_row;
	const uint64_t *row;

	/* How often each row counts, 0 or more; NULL: every row counts once. */
	const int64_t *copies;
} qf_batch;

typedef struct qf_engine
{
	const char *name;

	/*
	 * QB_TOTAL_OVERFLOW leaves the filter unchanged.  After QB_NO_MEMORY the filter must be
	 * dropped.  If a pause (base/status.h) jumped out, the batch can be inserted again, with the
	 * right result.
	 */
	qb_status (*insert)(qf_filter *f, const qf_batch *batch);

	/*
	 * The number of set positions of each key.  "count" is at most qf_keys_at_once().  Works on
	 * views.
	 */
	void (*query)(const qf_filter *f, const uint64_t *fingerprint, size_t count, uint32_t *set);

	/* Tells of each key whether all its positions are set.  Stops at a key's first zero. */
	void (*contains)(const qf_filter *f, const uint64_t *fingerprint, size_t count, bool *found);

	/* Does what qf_merge() does; "from" is not remote. */
	qb_status (*merge)(qf_filter *into, const qf_filter *from);

	/* Bring the bits back from the device.  Afterwards the filter is not remote. */
	qb_status (*materialize)(qf_filter *f);

	/* The number of rows to collect before an insert into this filter. */
	size_t (*batch)(const qf_filter *f);
} qf_engine;

extern const qf_engine qf_engine_cpu;

/*
 * The CPU engine's inner loops (filter/filter.h) with AVX2 or NEON, and with AVX-512, if built for
 * such a processor; and the table in use, which qb_isa_use() changes.
 */
struct qf_kernels;
extern const struct qf_kernels qf_kernels_vector;
extern const struct qf_kernels qf_kernels_avx512;
extern const struct qf_kernels *qf_kernels_now(void);

/* Rows of a batch, counting copies; -1 if their number is out of range. */
extern int64_t qf_batch_rows(const qf_batch *batch);

#endif
