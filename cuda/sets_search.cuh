/*
 * sets_search.cuh
 *		A search for pairs: what opening it (sets_search.cu) and running it
 *		(sets_pairs.cu) share.
 *
 * cuda/sets_search.cuh
 */
#ifndef QSET_SETS_SEARCH_CUH
#define QSET_SETS_SEARCH_CUH

#include "sets.cuh"

/* A strip is to take so many ms, if all takes more than twice as much. */
#define STRIP_MS 25.0

enum phase
{
	PHASE_BEGIN,
	PHASE_COUNTED,
	PHASE_DONE,
	PHASES
};

struct qset_cuda_pairs
{
	qs_cuda *gpu;
	qset_cuda_request request;
	const qset_cuda_sets *columns;
	bool tail;
	qset_rows rows; /* how rows are counted and handed out */
	qset_rows sums; /* top of many columns: how lists get into the strip before */
	qset_bits bits;
	qset_strip strip;
	uint64_t most_rows; /* of a strip, for which there is room */
	uint64_t rows_now;  /* of the next strip */
	uint64_t end;       /* of the rows wanted */
	bool running;       /* the strip is on its way */
	uint32_t *table;    /* of methods that probe one */
	uint64_t table_bytes;
	qset_output out;
	uint64_t *place;       /* on the device: where the pairs of each unit belong, and all */
	qset_pair *ordered;    /* on the device: pairs of whole units, in order */
	uint64_t *place_here;  /* on the host, while pairs come in pieces */
	uint64_t next_unit;    /* the next whose pairs are not in "ordered" yet */
	uint64_t ready, taken; /* pairs in "ordered" */
	uint64_t held;
	cudaEvent_t at[PHASES];
	qset_cuda_report report;
};

/* Does the method add lists of the index? */
static inline bool
has_lists(const qset_cuda_pairs *p)
{
	return p->report.method == QSET_INDEX || p->report.method == QSET_HYBRID;
}

/* Note that the stream has come to a phase; milliseconds between two that are over. */
extern qb_status qset_search_mark(qset_cuda_pairs *p, phase where);
extern qb_status qset_search_elapsed(qset_cuda_pairs *p, phase from, phase to, double *ms);

/* Rows of the next strip: about so many. */
extern void qset_search_set_rows(qset_cuda_pairs *p, double rows);

#endif
