/*
 * spill.c
 *		Rows of groups that wait in temporary files for their turn.
 *
 * When there is no memory for further groups, rows of other groups are written to
 * files: whole tuples, each with its length before it.  Later they are read as if they
 * were on a page, and handled as all other rows.  Values out of line can still be
 * fetched then, since the snapshot still holds.
 *
 * All rows of a group go into the same file, one of PARTS, chosen by a hash of the group's
 * bits.  Each file has a turn of its own.  Groups that find no memory in that turn are
 * written to files again, chosen by another hash, so that a level divides what those before
 * it left together.  Each turn completes at least one group.
 *
 * src/scan/spill.c
 */
#include "scan/groups.h"

#include "storage/buffile.h"
#include "utils/memutils.h"

#define PARTS 8

/* Room for tuples: as many bytes as some pages have. */
#define READ_BYTES (4 * BLCKSZ)

typedef struct SpillPart
{
	BufFile *file;
	uint64 rows;
	int level; /* how often these rows were spilled before */
} SpillPart;

struct ScanSpill
{
	MemoryContext context;
	SpillPart *writing[PARTS]; /* of this turn; NULL: no row yet */
	SpillPart *reading;        /* the part whose turn it is; NULL: this is the turn of the table */
	List *waiting;             /* parts that wait for a turn */
	char *tuples;              /* the tuples that were read last */
};

ScanSpill *
ScanSpillCreate(MemoryContext context)
{
	ScanSpill *spill = MemoryContextAllocZero(context, sizeof(ScanSpill));

	spill->context = context;
	return spill;
}

static SpillPart *
create_part(const ScanSpill *spill)
{
	MemoryContext old = MemoryContextSwitchTo(spill->context);
	SpillPart *part = palloc0(sizeof(SpillPart));

	part->file = BufFileCreateTemp(false);
	part->level = spill->reading ? spill->reading->level + 1 : 0;
	MemoryContextSwitchTo(old);
	return part;
}

static void
close_part(SpillPart *part)
{
	if (part == NULL)
		return;
	BufFileClose(part->file);
	pfree(part);
}

/*
 * The file for a group at a level.  The hash is not the one that finds a group's slot, or
 * all groups of a file would crowd in an eighth of their table.
 */
static int
part_of(int64 bits, int level)
{
	return (int) qb_slot_of(qb_slot_hash_wide((uint64) bits, (uint64) level), PARTS);
}

/* Write a tuple whose group has these bits. */
void
ScanSpillPut(ScanSpill *spill, int64 bits, HeapTupleHeader tuple, uint16 length)
{
	int level = spill->reading ? spill->reading->level + 1 : 0;
	SpillPart **part = &spill->writing[part_of(bits, level)];

	if (*part == NULL)
		*part = create_part(spill);
	BufFileWrite((*part)->file, &length, sizeof(length));
	BufFileWrite((*part)->file, tuple, length);
	(*part)->rows++;
}

/*
 * Queue the parts that were written in this turn.  They go first, so that few files
 * exist at a time.
 */
static void
end_turn(ScanSpill *spill)
{
	MemoryContext old = MemoryContextSwitchTo(spill->context);
	int i;

	close_part(spill->reading);
	spill->reading = NULL;
	for (i = 0; i < PARTS; i++)
		if (spill->writing[i])
			spill->waiting = lcons(spill->writing[i], spill->waiting);
	memset(spill->writing, 0, sizeof(spill->writing));
	MemoryContextSwitchTo(old);
}

/* Begin to read the next part; false: there is none. */
bool
ScanSpillNextPart(ScanSpill *spill)
{
	end_turn(spill);
	if (spill->waiting == NIL)
		return false;
	spill->reading = linitial(spill->waiting);
	spill->waiting = list_delete_first(spill->waiting);
	if (BufFileSeek(spill->reading->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not rewind a file of spilled rows")));
	if (spill->tuples == NULL)
		spill->tuples = MemoryContextAlloc(spill->context, READ_BYTES);
	return true;
}

static void
read_bytes(BufFile *file, void *bytes, Size length)
{
	if (BufFileRead(file, bytes, length) != length)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not read from a file of spilled rows")));
}

/* Read the next tuples of the part as if they were on a page; false at its end. */
bool
ScanSpillRead(ScanSpill *spill, PageTuples *tuples)
{
	SpillPart *part = spill->reading;
	Size used = 0;

	tuples->share = 0;
	tuples->count = 0;
	while (part->rows > 0 && tuples->count < MaxHeapTuplesPerPage && used + BLCKSZ <= READ_BYTES)
	{
		uint16 *length = &tuples->length[tuples->count];

		read_bytes(part->file, length, sizeof(*length));
		tuples->tuple[tuples->count++] = (HeapTupleHeader) (spill->tuples + used);
		read_bytes(part->file, spill->tuples + used, *length);
		used += MAXALIGN(*length);
		part->rows--;
	}
	return tuples->count > 0;
}

/* Drop all parts. */
void
ScanSpillReset(ScanSpill *spill)
{
	ListCell *cell;

	end_turn(spill);
	foreach (cell, spill->waiting)
		close_part(lfirst(cell));
	list_free(spill->waiting);
	spill->waiting = NIL;
}
