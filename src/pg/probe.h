/*
 * probe.h
 *		Looking up keys in sketches: what is kept from row to row.
 *
 * src/pg/probe.h
 */
#ifndef QS_PG_PROBE_H
#define QS_PG_PROBE_H

#include "pg/expanded.h"

/* Bytes that identify a value stored out of line. */
#define TOAST_ID_BYTES (VARHDRSZ_EXTERNAL + sizeof(struct varatt_external))

/*
 * One per calling expression, in fn_extra.  Remembers the type of the keys
 * and the last sketch stored out of line: the first row that names it reads
 * it, the second keeps a copy, all others use that.
 */
typedef struct Probe
{
	KeyType key;
	MemoryContext context;         /* of the copy; child of fn_mcxt */
	bool seen;                     /* toast_id is set */
	bool kept;                     /* so is the copy */
	char toast_id[TOAST_ID_BYTES]; /* of the last sketch out of line */
	qs_memory memory;
	ExpandedSketch *copy;
	SketchReader reader; /* of the row at hand */
} Probe;

extern Probe *ProbeOf(FunctionCallInfo fcinfo);
extern const qs_sketch *ProbeSketch(Probe *probe, Datum datum);
extern void ProbeSetKey(Probe *probe, Oid type, Oid collation);

#endif
