/*
 * sets_remote.h
 *		A collection of sets whose rows are on a GPU.
 *
 * src/pg/sets_remote.h
 */
#ifndef QS_PG_SETS_REMOTE_H
#define QS_PG_SETS_REMOTE_H

#include "gpu/sets_gpu.h"
#include "pg/sets_state.h"

extern void SetsAddColumns(SetsState *sets, const GpuColumnPart *part, int parts);
extern bool SetsSendRows(SetsState *sets);
extern void SetsFetch(SetsState *sets);
extern const GpuRef *SetsOnGpu(Datum datum, GpuKept *made);

#endif
