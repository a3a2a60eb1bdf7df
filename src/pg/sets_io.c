/*
 * sets_io.c
 *		Input, output and comparison of qsets values.
 *
 * src/pg/sets_io.c
 */
#include "pg/flat.h"
#include "pgbase/memory.h"
#include "pg/sets_value.h"

#include "pgbase/version.h"
#include "sets/format.h"

/* Read all of a value that was made outside.  Raise an error unless it is a valid collection. */
static void
validate(struct varlena *value, int sqlstate)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qset_collection collection;
	qb_memory memory;
	qb_status status;

	status = qset_read(&collection, bytes, length, ContextMemory(CurrentMemoryContext, &memory),
					   &sets_interrupt);
	if (status == QB_NO_MEMORY)
		SetsCheck(status);
	if (status != QB_OK)
		FormatRaise(&sets_format, status, sqlstate, bytes, length);
	qset_collection_free(&collection);
}

static char *
hint(const char *text)
{
	(void) text;
	return "Make collections with qsets_agg(set_id, element).";
}

static const FlatType qsets = {
	.name = "qsets",
	.noun = "collection of sets",
	.prefix = "qsets:",
	.validate = validate,
	.hint = hint,
};

FLAT_FUNCTIONS(qsets, qsets);
