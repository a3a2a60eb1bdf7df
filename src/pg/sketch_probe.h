/*
 * sketch_probe.h
 *		Looking up keys in sketches: what is kept from row to row.
 *
 * src/pg/sketch_probe.h
 */
#ifndef QS_PG_PROBE_H
#define QS_PG_PROBE_H

#include "sketch/noise.h"
#include "pg/sketch_expanded.h"
#include "pg/keyread.h"

/* Bytes that identify a value stored out of line. */
#define TOAST_ID_BYTES (VARHDRSZ_EXTERNAL + sizeof(struct varatt_external))

/*
 * One per calling expression, in fn_extra.  Remembers the type of the keys,
 * the last sketch stored out of line (the first row that names it reads what
 * it needs, the second keeps a copy, all others use that), the last measured
 * noise and the last error taken from it.
 */
typedef struct Probe
{
	KeyType key;
	bool literal;        /* the key is text that may be read as another type */
	KeyReader literals;  /* which does that */
	SketchReader reader; /* of the row at hand */

	MemoryContext copy_context;
	bool seen;                          /* toast_id is set */
	bool kept;                          /* so is the copy */
	char toast_id[TOAST_ID_BYTES];      /* of the last sketch out of line */
	uint8 copy_header[QS_HEADER_BYTES]; /* of the copied sketch */
	ExpandedSketch *copy;

	MemoryContext noise_context;
	qs_memory noise_memory;
	qs_noise noise;
	bool measured;                       /* what follows is of the measured sketch: */
	bool noise_expanded;                 /* it has a version instead of a header */
	uint8 noise_header[QS_HEADER_BYTES]; /* if not */
	uint64 noise_version;                /* if so, with its N */
	int64 noise_total;
	bool asked; /* the noise was asked for this: */
	double confidence;
	int64 probes;
	int64 error; /* what it answered */
} Probe;

extern Probe *ProbeCreate(FmgrInfo *flinfo);

/* The copy of the sketch out of line that rows before this one had as well, or NULL. */
static inline const qs_sketch *
ProbeKept(const Probe *probe, Datum datum)
{
	if (probe->kept && VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)) &&
		memcmp(probe->toast_id, DatumGetPointer(datum), TOAST_ID_BYTES) == 0)
		return &probe->copy->sketch;
	return NULL;
}

/* The probe of the calling expression. */
static inline Probe *
ProbeOf(FunctionCallInfo fcinfo)
{
	Probe *probe = fcinfo->flinfo->fn_extra;

	return likely(probe) ? probe : ProbeCreate(fcinfo->flinfo);
}

extern const qs_sketch *ProbeSketch(Probe *probe, Datum datum);
extern bool ProbeIsNew(const Probe *probe, Datum datum);
extern bool ProbeHeader(Probe *probe, Datum datum, qs_sketch *view);
extern int64 ProbeStored(Datum datum, const qs_sketch *view, uint64 fingerprint);
extern const qs_noise *ProbeNoise(Probe *probe, const qs_sketch *sketch, int64 probes);
extern int64 ProbeError(Probe *probe, const qs_sketch *sketch, double confidence, int64 probes);
extern void ProbeSetKey(Probe *probe, Oid type, Oid collation);
extern uint64 ProbeMisfit(Probe *probe, const qs_sketch *sketch, Datum value);

/* Fingerprint of a key, of the type that the probe knows, for this sketch. */
static inline uint64
ProbeFingerprint(Probe *probe, const qs_sketch *sketch, Datum value)
{
	return likely(KeyFits(&probe->key, &sketch->keys)) ? KeyFingerprint(&probe->key, value)
													   : ProbeMisfit(probe, sketch, value);
}

#endif
