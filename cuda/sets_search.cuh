/*
 * sets_search.cuh
 *		A search for pairs: what opening it (sets_search.cu) and running it (sets_rows.cu) share.
 *
 * cuda/sets_search.cuh
 */
#ifndef QSET_SETS_SEARCH_CUH
#define QSET_SETS_SEARCH_CUH

#include "sets.cuh"

/* A strip shall take this many ms, if the whole search takes more than twice as much. */
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
	qset_rows sums; /* "top" with many columns: how lists are added to the strip before */
	qset_bits bits;
	qset_strip strip;
	uint64_t most_rows; /* rows of a strip for which there is room */
	uint64_t rows_now;  /* rows of the next strip */
	uint64_t end;       /* end of the wanted rows */
	bool running;       /* the strip is started and not finished */
	uint32_t *table;    /* table of the methods that probe a table */
	qset_output out;
	uint64_t *place;       /* on the device: where each unit's pairs belong, and their number */
	qset_pair *ordered;    /* on the device: pairs of whole units, in order */
	uint64_t *place_here;  /* a copy on the host, while pairs come in pieces */
	uint64_t next_unit;    /* the first unit whose pairs are not in "ordered" yet */
	uint64_t ready, taken; /* pairs in "ordered" */
	qset_memory memory;
	cudaEvent_t at[PHASES];
	qset_cuda_report report;
};

/* Does the method add lists of the index? */
static inline bool
has_lists(const qset_cuda_pairs *p)
{
	return p->report.method == QSET_INDEX || p->report.method == QSET_HYBRID;
}

/* Note that the stream has come to a phase; get the ms between two phases that are over. */
extern qb_status qset_search_mark(qset_cuda_pairs *p, phase where);
extern qb_status qset_search_elapsed(qset_cuda_pairs *p, phase from, phase to, double *ms);

/* Set the number of rows of the next strip to about "rows". */
extern void qset_search_set_rows(qset_cuda_pairs *p, double rows);

#endif
