/*
 * spill.h
 *		Values of groups in temporary files.
 *
 * A value is written as any number of pieces of bytes, and read in the same way: in the order
 * of the part, or from a place that was noted.
 *
 * src/scan/spill.h
 */
#ifndef QS_SCAN_SPILL_H
#define QS_SCAN_SPILL_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "storage/buffile.h"

typedef struct ScanSpill ScanSpill;

/* A place in the part that is read. */
typedef struct SpillPlace
{
	int file;
	off_t offset;
} SpillPlace;

extern ScanSpill *ScanSpillCreate(MemoryContext context, Size limit);
extern int ScanSpillLevel(const ScanSpill *spill);
extern void ScanSpillBegin(ScanSpill *spill, int64 bits);
extern void ScanSpillWrite(ScanSpill *spill, const void *bytes, Size length);
extern bool ScanSpillNextPart(ScanSpill *spill);
extern void ScanSpillRewind(ScanSpill *spill);
extern bool ScanSpillNext(ScanSpill *spill);
extern SpillPlace ScanSpillTell(const ScanSpill *spill);
extern void ScanSpillSeek(ScanSpill *spill, const SpillPlace *place);
extern void ScanSpillRead(ScanSpill *spill, void *bytes, Size length);
extern void ScanSpillSkip(ScanSpill *spill, Size length);
extern void ScanSpillCopy(ScanSpill *spill, Size length);
extern void ScanSpillReset(ScanSpill *spill);

#endif
