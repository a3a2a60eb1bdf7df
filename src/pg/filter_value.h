/*
 * filter_value.h
 *		Probabilistic Bloom filters as values of PostgreSQL.
 *
 * A qfilter value is a varlena: after the header it has the byte format of
 * filter/format.h.  Functions read it through a FilterReader and change it as an
 * expanded object (both in filter_state.h).
 *
 * src/pg/filter_value.h
 */
#ifndef QS_PG_FILTER_VALUE_H
#define QS_PG_FILTER_VALUE_H

#include "postgres.h"
#include "fmgr.h"

#include "filter/format.h"
#include "pgbase/value.h"
#include "pgbase/keyfamily.h"
#include "pgbase/memory.h"
#include "engine/filter_engine.h"
#include "pgbase/version.h"

extern void FilterOpen(qf_filter *view, struct varlena *value);
extern bool FilterOpenStored(qf_filter *view, Datum datum);
extern struct varlena *FilterFlatten(const qf_filter *filter);
extern Size FilterFlatSize(const qf_filter *filter, qf_flat *flat);
extern void FilterWrite(const qf_filter *filter, const qf_flat *flat, struct varlena *out);

extern const ValueFormat filter_format;
extern const KeyHolder filter_key_holders[2]; /* of frequencies, and Bloom filters */
extern void FilterCheck(qb_status status);
extern void FilterCheckMergeable(const qf_filter *a, const qf_filter *b);

/* How messages about keys name a filter. */
static inline const KeyHolder *
FilterKeyHolder(const qf_filter *filter)
{
	return &filter_key_holders[qf_is_bloom(&filter->params)];
}

#endif
