/*
 * filter_probe.h
 *		Looking up keys in filters: what is kept from row to row.
 *
 * src/pg/filter_probe.h
 */
#ifndef QS_PG_FILTER_PROBE_H
#define QS_PG_FILTER_PROBE_H

#include "filter/estimate.h"
#include "pg/filter_state.h"
#include "pgbase/keytext.h"
#include "pgbase/stored.h"

/* A filter stored out of line. */
typedef struct StoredFilter
{
	StoredValue stored;
	FilterState *copy; /* NULL: not kept */
	Size room;         /* that a copy takes; 0: not known yet */
} StoredFilter;

/*
 * There is one for each calling expression, in fn_extra.  It remembers the type of the
 * keys and the filters that are stored out of line.  The first row with such a filter
 * reads parts of it, or keeps a copy if there is room.  The second row keeps a copy
 * even in place of others.
 */
typedef struct FilterProbe
{
	KeyType key;
	bool literal;        /* the key is text that may be read as another type */
	KeyReader literals;  /* reads such a key */
	FilterReader reader; /* of the current row */

	StoredCache filters;  /* of StoredFilter */
	StoredFilter *stored; /* of the current row, or NULL */
} FilterProbe;

extern FilterProbe *FilterProbeOf(FunctionCallInfo fcinfo);
extern const qf_filter *FilterProbed(FilterProbe *probe, Datum datum);
extern const qf_filter *FilterWhole(FilterProbe *probe, Datum datum);
extern bool FilterInParts(FilterProbe *probe, Datum datum, qf_filter *view);
extern uint32 FilterPartsSet(Datum datum, const qf_filter *view, uint64 fingerprint, bool all);
extern void FilterProbeSetKey(FilterProbe *probe, Oid type, Oid collation);
extern uint64 FilterMisfit(FilterProbe *probe, const qf_filter *filter, Datum value);
extern uint64
FilterKeyArgument(FunctionCallInfo fcinfo, FilterProbe *probe, const qf_filter *filter);

/* Fingerprint of a key for this filter.  The probe knows the key's type. */
static inline uint64
FilterFingerprint(FilterProbe *probe, const qf_filter *filter, Datum value)
{
	return likely(KeyFits(&probe->key, &filter->keys)) ? KeyFingerprint(&probe->key, value)
													   : FilterMisfit(probe, filter, value);
}

/* Which estimate of a frequency is wanted. */
typedef enum FilterMethod
{
	FILTER_CORRECTED, /* right on average, but not below 0 */
	FILTER_UNBIASED,  /* the same, but may be below 0 */
	FILTER_PAPER      /* as in the paper, for comparison */
} FilterMethod;

/* filter_estimate.c */
extern FilterMethod FilterMethodArgument(FunctionCallInfo fcinfo, int argument);
extern void FilterScale(const qf_filter *filter, FilterMethod method, qf_scale *scale);
extern double FilterEstimate(const qf_scale *scale, FilterMethod method, uint32 set);

#endif
