/*
 * emulate.h
 *		Emulated devices, which run on the CPU: what the files of the families share.
 *
 * test/modules/qsketch_emulate/emulate.h
 */
#ifndef QSKETCH_EMULATE_H
#define QSKETCH_EMULATE_H

#include "gpu/worker/worker.h"

#include "base/status.h"

struct qs_cuda
{
	qb_memory memory; /* allocator with the device's limit; its context is this device */
	uint64 used;
	uint64 limit;
	bool unlimited;   /* the limit is suspended */
	uint64 *gathered; /* gathered keys of columns */
	uint64 gathered_room;
	qs_cuda_error error;
};

/* Call the worker's pause.  Operations call this function where a GPU would let the worker wait. */
extern void gpu_emulated_wait(void);

/* The operations of emulated devices, for each family. */
extern const struct qs_sketch_ops gpu_emulated_sketches;       /* sketch.c */
extern const struct qset_sets_ops gpu_emulated_sets;           /* sets.c */
extern const struct qf_filter_ops gpu_emulated_filters;        /* filter.c */
extern const struct qs_column_ops gpu_emulated_columns;        /* column.c */
extern const struct qs_exact_ops gpu_emulated_exact;           /* column_exact.c */
extern const struct qset_members_ops gpu_emulated_memberships; /* sets_memberships.c */

#endif
