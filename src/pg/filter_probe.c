/*
 * filter_probe.c
 *		Looking up keys in filters: what is kept from row to row.
 *
 * A query that looks up many keys in stored filters must fetch each filter only once,
 * even if a join brings it again with each row.  So copies of filters that come again
 * are kept, as far as there is room (stored.h).  A query that looks up one key in many
 * stored filters should not fetch them as a whole: a blocked Bloom filter has the key's
 * bits in one block, and in a large filter the key's positions are few.
 *
 * src/pg/filter_probe.c
 */
#include "pg/filter_probe.h"

#include "access/heaptoast.h"
#include "filter/pieces.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Make the probe of a calling expression, at its first call. */
FilterProbe *
FilterProbeOf(FunctionCallInfo fcinfo)
{
	FmgrInfo *flinfo = fcinfo->flinfo;
	FilterProbe *probe = flinfo->fn_extra;

	if (likely(probe))
		return probe;
	probe = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(FilterProbe));
	probe->keys.context = flinfo->fn_mcxt;
	StoredInit(&probe->filters, flinfo->fn_mcxt, sizeof(StoredFilter), get_hash_memory_limit());
	flinfo->fn_extra = probe;
	return probe;
}

/*
 * Fetching one part takes as long as fetching so many chunks with the whole value
 * (measured with 1 MB: 5 to 8).
 */
#define CHUNKS_PER_PART 8

static bool
parts_pay(const qf_filter *view, Size bytes)
{
	uint64 parts = view->params.layout == QF_BLOCKED ? 1 : view->params.k;

	if (view->form == QF_FORM_COMPACT)
		parts *= 2; /* where the data are, and the data */
	return parts * CHUNKS_PER_PART < bytes / TOAST_MAX_CHUNK_SIZE;
}

/* Bytes of a set bit in a copy's list, which is a hash table. */
#define LIST_BYTES (4 * sizeof(uint32))

/* The memory of a copy.  A compact filter takes fewer bytes than its copy. */
static Size
room_of(const StoredFilter *stored, Datum datum)
{
	qf_filter view;
	Size bytes = stored->stored.id.va_rawsize;

	if (!FilterOpenStored(&view, datum))
		return bytes;
	if (view.ones > qf_explicit_limit(&view.params))
		return Max(bytes, qf_dense_size(&view.params));
	return Max(bytes, view.ones * LIST_BYTES);
}

/* May a copy of the filter of this row be kept? */
static bool
has_room(FilterProbe *probe, Datum datum)
{
	StoredFilter *stored = probe->stored;

	if (stored->room == 0)
		stored->room = room_of(stored, datum);
	return StoredMayKeep(&probe->filters, &stored->stored, stored->room);
}

/*
 * Is this a stored filter without a copy that is better read in parts?  If so, its
 * header is opened, and FilterPartsSet() reads the parts.  If not, FilterWhole() must
 * follow.
 */
bool
FilterInParts(FilterProbe *probe, Datum datum, qf_filter *view)
{
	StoredFilter *stored = (StoredFilter *) StoredFind(&probe->filters, datum);

	probe->stored = stored;
	if (stored == NULL || stored->copy || (StoredAgain(&stored->stored) && has_room(probe, datum)))
		return false;
	return FilterOpenStored(view, datum) && parts_pay(view, stored->stored.id.va_rawsize);
}

static void
read_part(void *context, uint64_t offset, uint32_t bytes, uint8_t *out)
{
	CHECK_FOR_INTERRUPTS();
	StoredReadPart(&filter_format, *(Datum *) context, offset, bytes, out);
}

/*
 * How many positions of a key are set in a filter that is read in parts.  "all": the
 * caller only asks whether all are set, so reading stops at the first that is not.
 */
uint32
FilterPartsSet(Datum datum, const qf_filter *view, uint64 fingerprint, bool all)
{
	qf_source source = { .read = read_part, .context = &datum };

	return qf_count_stored(view, qf_hash(fingerprint, view->seed_key), all, &source);
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

/* The filter, after FilterInParts() has returned false. */
const qf_filter *
FilterWhole(FilterProbe *probe, Datum datum)
{
	StoredFilter *stored = probe->stored;

	if (stored && stored->copy)
		return &stored->copy->filter;
	FilterRead(&probe->reader, datum);
	if (stored == NULL || !has_room(probe, datum))
		return probe->reader.filter;
	keep_copy(probe, stored);
	return &stored->copy->filter;
}

/* The filter of this row, for reading; valid until the row ends. */
const qf_filter *
FilterProbed(FilterProbe *probe, Datum datum)
{
	probe->stored = (StoredFilter *) StoredFind(&probe->filters, datum);
	return FilterWhole(probe, datum);
}
