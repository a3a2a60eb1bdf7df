/*
 * filter_engine.h
 *		Backends that work on filters in batches, behind one table.
 *
 * As sketch_engine.h for sketches.  Every engine sets the same bits.  Which bits
 * a row sets depends on its key, the nonce and its row number alone, so rows may
 * be given in any order and in batches of any size.
 *
 * An engine may keep the bits of a dense filter elsewhere, on a device: the filter
 * then is "remote".  Only insert() and merge() of the same engine work on it until
 * settle() has brought them back.  Lookups are here for filters that are here.
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
	 * Rows that insert once whatever happens have consecutive numbers from
	 * first_row on.  Rows with ids of their own, which may come twice, have
	 * them here; the filter then does not count rows.
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
	 * QB_TOTAL_OVERFLOW leaves the filter unchanged; after QB_NO_MEMORY drop it.  After
	 * a pause (memory.h) jumped out, inserting the batch again gives what it would have.
	 */
	qb_status (*insert)(qf_filter *f, const qf_batch *batch);

	/* How many positions of each key are set, of qf_keys_at_once(); works on views. */
	void (*query)(const qf_filter *f, const uint64_t *fingerprint, size_t count, uint32_t *set);

	/* Are all positions of each key set?  Looks no further than the first zero. */
	void (*contains)(const qf_filter *f, const uint64_t *fingerprint, size_t count, bool *found);

	/* As qf_merge(); "from" is not remote. */
	qb_status (*merge)(qf_filter *into, const qf_filter *from);

	/* Bring the bits here, where they stay. */
	qb_status (*settle)(qf_filter *f);

	/* How many rows to collect before an insert into this filter. */
	size_t (*batch)(const qf_filter *f);
} qf_engine;

extern const qf_engine qf_engine_cpu;

/* Rows of a batch, or -1 if that is out of range. */
extern int64_t qf_batch_rows(const qf_batch *batch);

#endif
