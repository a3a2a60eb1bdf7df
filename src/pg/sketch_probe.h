/*
 * sketch_probe.h
 *		Looking up keys in sketches: what is kept from row to row.
 *
 * src/pg/sketch_probe.h
 */
#ifndef QS_PG_PROBE_H
#define QS_PG_PROBE_H

#include "sketch/noise.h"
#include "pg/sketch_state.h"
#include "pgbase/keyread.h"
#include "pgbase/stored.h"

/* A sketch stored out of line. */
typedef struct StoredSketch
{
	StoredValue stored;
	bool opened;                   /* there is a view of its header, for reading parts of it */
	qs_sketch view;                /* that view, without tables */
	uint8 header[QS_HEADER_BYTES]; /* of the copy */
	SketchState *copy;             /* NULL: not kept */
} StoredSketch;

/* What was measured of a sketch. */
typedef struct Measured
{
	MemoryContext context; /* of the noise */
	qb_memory memory;
	bool there; /* the noise is; */
	qs_noise noise;
	bool asked; /* it was asked for this: */
	double confidence;
	int64 probes;
	int64 error; /* what it answered */
} Measured;

typedef struct StoredNoise
{
	StoredValue stored;
	Measured measured;
} StoredNoise;

/*
 * One per calling expression, in fn_extra.  Remembers the type of the keys,
 * the sketches stored out of line (the first row that names one reads what it
 * needs, the second keeps a copy, all others use that), and noise: that of
 * stored sketches by their place, and the last that was measured of others.
 */
typedef struct Probe
{
	KeyType key;
	bool literal;        /* the key is text that may be read as another type */
	KeyReader literals;  /* which does that */
	SketchReader reader; /* of the row at hand */

	StoredCache sketches; /* of StoredSketch */
	StoredCache noises;   /* of StoredNoise */
	StoredNoise *noise;   /* of the row at hand, if its sketch is stored out of line */

	Measured other;      /* of a sketch that is not stored out of line, or not kept */
	bool other_expanded; /* it has a version instead of a header */
	uint8 other_header[QS_HEADER_BYTES]; /* if not */
	uint64 other_version;                /* if so, with its N */
	int64 other_total;
} Probe;

extern Probe *ProbeCreate(FmgrInfo *flinfo);

/* The sketch of a row if it is stored out of line, else NULL. */
static inline StoredSketch *
ProbeStored(Probe *probe, Datum datum)
{
	return (StoredSketch *) StoredFind(&probe->sketches, datum);
}

/* The key may be looked up in the copy of the next sketch. */
static inline void
ProbeGuess(const StoredSketch *stored, uint64 fingerprint)
{
	const StoredSketch *next = (const StoredSketch *) StoredGuess(&stored->stored);

	if (next && next->copy)
		qs_estimate_soon(&next->copy->sketch, fingerprint);
}

/* The probe of the calling expression. */
static inline Probe *
ProbeOf(FunctionCallInfo fcinfo)
{
	Probe *probe = fcinfo->flinfo->fn_extra;

	return likely(probe) ? probe : ProbeCreate(fcinfo->flinfo);
}

extern const qs_sketch *ProbeSketch(Probe *probe, Datum datum);
extern const qs_sketch *ProbeRead(Probe *probe, StoredSketch *stored, Datum datum);
extern bool ProbeHasRoom(Probe *probe, StoredSketch *stored);
extern const qs_sketch *ProbeHeader(StoredSketch *stored, Datum datum);
extern int64 ProbePieces(Datum datum, const qs_sketch *view, uint64 fingerprint);
extern const qs_sketch *ProbeSketchToMeasure(Probe *probe, Datum datum);
extern const qs_sketch *ProbeSketchForError(Probe *probe, Datum datum, int64 probes);
extern int64 ProbeEstimate(Datum datum, const qs_sketch *sketch, uint64 fingerprint);
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
