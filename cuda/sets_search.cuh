/*
 * sets_search.cuh
 *		A search for pairs: what opening it (sets_search.cu) and running it
 *		(sets_pairs.cu) share.
 *
 * cuda/sets_search.cuh
 */
#ifndef QI_SETS_SEARCH_CUH
#define QI_SETS_SEARCH_CUH

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

struct qi_cuda_pairs
{
	qs_cuda *gpu;
	qi_cuda_request request;
	const qi_cuda_sets *columns;
	bool tail;
	qi_rows rows; /* how rows are counted and handed out */
	qi_rows sums; /* top of many columns: how lists get into the strip before */
	qi_bits bits;
	qi_strip strip;
	uint64_t most_rows; /* of a strip, for which there is room */
	uint64_t rows_now;  /* of the next strip */
	uint64_t end;       /* of the rows wanted */
	bool running;       /* the strip is on its way */
	uint32_t *table;    /* of methods that probe one */
	uint64_t table_bytes;
	qi_output out;
	uint64_t *place;       /* on the device: where the pairs of each unit belong, and all */
	qi_pair *ordered;      /* on the device: pairs of whole units, in order */
	uint64_t *place_here;  /* on the host, while pairs come in pieces */
	uint64_t next_unit;    /* the next whose pairs are not in "ordered" yet */
	uint64_t ready, taken; /* pairs in "ordered" */
	uint64_t held;
	cudaEvent_t at[PHASES];
	qi_cuda_report report;
};

/* Does the method add lists of the index? */
static inline bool
has_lists(const qi_cuda_pairs *p)
{
	return p->report.method == QI_INDEX || p->report.method == QI_HYBRID;
}

/* Note that the stream has come to a phase; milliseconds between two that are over. */
extern qs_status qi_search_mark(qi_cuda_pairs *p, phase where);
extern qs_status qi_search_elapsed(qi_cuda_pairs *p, phase from, phase to, double *ms);

/* Rows of the next strip: about so many. */
extern void qi_search_set_rows(qi_cuda_pairs *p, double rows);

#endif
