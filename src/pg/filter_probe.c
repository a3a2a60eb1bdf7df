/*
 * filter_probe.c
 *		Looking up keys in filters: what is kept from row to row.
 *
 * A query that looks up many keys in stored filters must fetch each once, also
 * when it comes anew with each row of a join: copies are kept (stored.h).
 *
 * src/pg/filter_probe.c
 */
#include "pg/filter_probe.h"

#include "miscadmin.h"
#include "pg/keyexpr.h"
#include "utils/memutils.h"

#define KEY_ARGUMENT 1

/* The probe of the calling expression, made at its first call. */
FilterProbe *
FilterProbeOf(FunctionCallInfo fcinfo)
{
	FmgrInfo *flinfo = fcinfo->flinfo;
	FilterProbe *probe = flinfo->fn_extra;

	if (likely(probe))
		return probe;
	probe = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(FilterProbe));
	StoredInit(&probe->filters, flinfo->fn_mcxt, sizeof(StoredFilter), get_hash_memory_limit());
	flinfo->fn_extra = probe;
	return probe;
}

/* Keep a copy of the filter that was read. */
static void
keep_copy(FilterProbe *probe, StoredFilter *stored)
{
	stored->copy = NULL;
	MemoryContextReset(stored->stored.context);
	stored->copy = FilterCopy(stored->stored.context, probe->reader.filter);
	StoredKept(&probe->filters, &stored->stored);
	FilterReadEnd(&probe->reader);
}

/* The filter of this row, for reading; good until the row ends. */
const qf_filter *
FilterProbed(FilterProbe *probe, Datum datum)
{
	StoredFilter *stored = (StoredFilter *) StoredFind(&probe->filters, datum);

	if (stored && stored->copy)
		return &stored->copy->filter;
	FilterRead(&probe->reader, datum);
	if (stored == NULL ||
		!StoredMayKeep(&probe->filters, &stored->stored, stored->stored.id.va_rawsize))
		return probe->reader.filter;
	keep_copy(probe, stored);
	return &stored->copy->filter;
}

/* Learn the type of the keys. */
void
FilterProbeSetKey(FilterProbe *probe, Oid type, Oid collation)
{
	if (probe->key.type != type || probe->key.input_collation != collation)
		KeyTypeInit(&probe->key, type, collation);
}

/* The fingerprint for a filter of other keys: a literal is read as one of those. */
uint64
FilterMisfit(FilterProbe *probe, const qf_filter *filter, Datum value)
{
	if (!probe->literal)
		KeyFamilyCheckProbe(&filter->keys, &probe->key, &filter_key_holder);
	return KeyReadText(&probe->literals, GetMemoryChunkContext(probe), &filter->keys,
					   &filter_key_holder, &probe->key, value);
}

/* Fingerprint of the key argument, checked to be of the filter's kind. */
uint64
FilterKeyArgument(FunctionCallInfo fcinfo, FilterProbe *probe, const qf_filter *filter)
{
	if (unlikely(probe->key.type == InvalidOid))
	{
		KeyArgument key;

		KeyArgumentOf(&key, fcinfo, KEY_ARGUMENT);
		FilterProbeSetKey(probe, key.type, key.collation);
		KeyTypeLearn(&probe->key, PG_GETARG_DATUM(KEY_ARGUMENT));
		probe->literal = key.literal;
	}
	return FilterFingerprint(probe, filter, PG_GETARG_DATUM(KEY_ARGUMENT));
}
