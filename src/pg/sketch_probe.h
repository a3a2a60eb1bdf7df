/*
 * sketch_probe.h
 *		Looking up keys in sketches: what is kept from row to row.
 *
 * src/pg/sketch_probe.h
 */
#ifndef QS_PG_SKETCH_PROBE_H
#define QS_PG_SKETCH_PROBE_H

#include "sketch/measure.h"
#include "pg/sketch_state.h"
#include "pgbase/keyread.h"
#include "pgbase/stored.h"

/* A sketch stored out of line. */
typedef struct StoredSketch
{
	StoredValue stored;
	bool opened;                   /* "view" has its header, for reading parts of it */
	qs_sketch view;                /* the header alone, without tables */
	uint8 header[QS_HEADER_BYTES]; /* header bytes of the copy */
	SketchState *copy;             /* NULL: not kept */
} StoredSketch;

/* The measured noise of a sketch, and the last error that follows from it. */
typedef struct Measured
{
	MemoryContext context; /* of the noise */
	qb_memory memory;
	bool there; /* "noise" is set */
	qs_noise noise;
	bool asked; /* "error" is set, for the next two fields */
	double confidence;
	int64 probes;
	int64 error; /* the error for them */
} Measured;

typedef struct StoredNoise
{
	StoredValue stored;
	Measured measured;
} StoredNoise;

/*
 * There is one for each calling expression, in fn_extra.  It remembers the type of the
 * keys, sketches that are stored out of line, and noise.  The first row with a stored
 * sketch reads the parts that it needs, the second row makes a copy, and all later rows
 * use the copy.  Noise is kept for several stored sketches, and for the last one of all
 * others.
 */
typedef struct Probe
{
	KeyProbe keys;       /* of the rows */
	SketchReader reader; /* of the current row */

	StoredCache sketches; /* of StoredSketch */
	StoredCache noises;   /* of StoredNoise */
	StoredNoise *noise;   /* of the current row, if its sketch is stored out of line */

	/* The last flat value that is not stored out of line, of those that are worth keeping. */
	MemoryContext flat_context;
	struct varlena *flat;     /* its bytes, or NULL */
	SketchState *flat_tables; /* the tables of a compact one, or NULL */

	Measured other; /* noise of "flat", or of an expanded sketch */
	bool other_expanded;
	uint64 other_version; /* version of the expanded sketch, with "other_total" */
	int64 other_total;
} Probe;

extern Probe *ProbeCreate(FmgrInfo *flinfo);

/* The sketch of a row if it is stored out of line, else NULL. */
static inline StoredSketch *
ProbeStored(Probe *probe, Datum datum)
{
	return (StoredSketch *) StoredFind(&probe->sketches, datum);
}

/* Prefetch the key's counters in the copy of the sketch that probably comes next. */
static inline void
ProbeGuess(const StoredSketch *stored, uint64 fingerprint)
{
	const StoredSketch *next = (const StoredSketch *) StoredGuess(&stored->stored);

	if (next && next->copy)
		qs_estimate_soon(&next->copy->sketch, fingerprint);
}

/* Was only the header of this sketch read? */
static inline bool
ProbeIsHeader(const qs_sketch *sketch)
{
	return sketch->encoding != QS_EXPLICIT && sketch->table == NULL && sketch->extra == NULL &&
		   sketch->compact == NULL;
}

/* The probe of the calling expression. */
static inline Probe *
ProbeOf(FunctionCallInfo fcinfo)
{
	Probe *probe = fcinfo->flinfo->fn_extra;

	return likely(probe) ? probe : ProbeCreate(fcinfo->flinfo);
}

extern const qs_sketch *ProbeSketch(Probe *probe, Datum datum);
extern const qs_sketch *ProbeSketchAsStored(Probe *probe, Datum datum);
extern const qs_sketch *ProbeRead(Probe *probe, StoredSketch *stored, Datum datum);
extern bool ProbeHasRoom(Probe *probe, StoredSketch *stored, Datum datum);
extern const qs_sketch *ProbeHeader(StoredSketch *stored, Datum datum);
extern int64 ProbePieces(Datum datum, const qs_sketch *view, uint64 fingerprint);
extern const qs_sketch *ProbeSketchToMeasure(Probe *probe, Datum datum);
extern const qs_sketch *ProbeSketchForError(Probe *probe, Datum datum, int64 probes);
extern int64 ProbeEstimate(Datum datum, const qs_sketch *sketch, uint64 fingerprint);
extern const qs_noise *ProbeNoise(Probe *probe, const qs_sketch *sketch, int64 probes);
extern int64 ProbeError(Probe *probe, const qs_sketch *sketch, double confidence, int64 probes);

#endif
