/*
 * spill.c
 *		Values of groups in temporary files.
 *
 * When groups take too much memory, some of them are written to files, each as one value
 * with its key, and are freed (groups_write.c).  A group whose rows go on is made anew,
 * so a key may have several values.  They are merged at the end (groups_merge.c).
 *
 * All values of a key go into the same file, one of PARTS, chosen by a hash of the key's
 * bits.  Then one file after the other is read.  If it has too many keys for the memory that
 * their places take, its values are divided among files again, by another hash, so that a
 * level divides what those before it left together.
 *
 * src/scan/spill.c
 */
#include "scan/spill.h"

#include "base/slot.h"
#include "utils/memutils.h"

#define PARTS 16

/* Bytes that are copied at a time. */
#define COPY_BYTES (8 * BLCKSZ)

typedef struct SpillPart
{
	BufFile *file;
	uint64 values;
	int level; /* how often these values were divided before */
} SpillPart;

struct ScanSpill
{
	MemoryContext context;
	SpillPart *part[PARTS]; /* to which values are written; NULL: none yet */
	SpillPart *writing;     /* the one of the last value */
	SpillPart *reading;     /* NULL: the values come from the table */
	uint64 left;            /* values of "reading" that were not read yet */
	List *waiting;          /* parts that wait to be read */
};

ScanSpill *
ScanSpillCreate(MemoryContext context)
{
	ScanSpill *spill = MemoryContextAllocZero(context, sizeof(ScanSpill));

	spill->context = context;
	return spill;
}

/* How often the values that are written now were divided before. */
int
ScanSpillLevel(const ScanSpill *spill)
{
	return spill->reading ? spill->reading->level + 1 : 0;
}

/*
 * The part for a key.  The hash is not the one that finds a group's slot, or all groups of a
 * part would crowd in a sixteenth of their table.
 */
static int
part_of(int64 bits, int level)
{
	return (int) qb_slot_of(qb_slot_hash_wide((uint64) bits, (uint64) level), PARTS);
}

static SpillPart *
create_part(const ScanSpill *spill)
{
	MemoryContext old = MemoryContextSwitchTo(spill->context);
	SpillPart *part = palloc0(sizeof(SpillPart));

	part->file = BufFileCreateTemp(false);
	part->level = ScanSpillLevel(spill);
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

/* Begin to write a value whose key has these bits. */
void
ScanSpillBegin(ScanSpill *spill, int64 bits)
{
	SpillPart **part = &spill->part[part_of(bits, ScanSpillLevel(spill))];

	if (*part == NULL)
		*part = create_part(spill);
	(*part)->values++;
	spill->writing = *part;
}

void
ScanSpillWrite(ScanSpill *spill, const void *bytes, Size length)
{
	if (length > 0)
		BufFileWrite(spill->writing->file, (void *) (uintptr_t) bytes, length);
}

/* Queue the parts that were written.  They go first, so that few files exist at a time. */
static void
end_writing(ScanSpill *spill)
{
	MemoryContext old = MemoryContextSwitchTo(spill->context);
	int i;

	close_part(spill->reading);
	spill->reading = spill->writing = NULL;
	for (i = 0; i < PARTS; i++)
		if (spill->part[i])
			spill->waiting = lcons(spill->part[i], spill->waiting);
	memset(spill->part, 0, sizeof(spill->part));
	MemoryContextSwitchTo(old);
}

static void
fail(const char *what)
{
	ereport(ERROR,
			(errcode_for_file_access(), errmsg("could not %s a temporary file of groups", what)));
}

/* Read the part from its first value on. */
void
ScanSpillRewind(ScanSpill *spill)
{
	if (BufFileSeek(spill->reading->file, 0, 0, SEEK_SET) != 0)
		fail("rewind");
	spill->left = spill->reading->values;
}

/* Begin to read the next part; false: there is none. */
bool
ScanSpillNextPart(ScanSpill *spill)
{
	end_writing(spill);
	if (spill->waiting == NIL)
		return false;
	spill->reading = linitial(spill->waiting);
	spill->waiting = list_delete_first(spill->waiting);
	ScanSpillRewind(spill);
	return true;
}

/* Go on to the next value of the part, all of whose bytes were read; false: there is none. */
bool
ScanSpillNext(ScanSpill *spill)
{
	if (spill->left == 0)
		return false;
	spill->left--;
	return true;
}

/* Where the next bytes will be read. */
SpillPlace
ScanSpillTell(const ScanSpill *spill)
{
	SpillPlace place;

	BufFileTell(spill->reading->file, &place.file, &place.offset);
	return place;
}

void
ScanSpillSeek(ScanSpill *spill, const SpillPlace *place)
{
	if (BufFileSeek(spill->reading->file, place->file, place->offset, SEEK_SET) != 0)
		fail("seek in");
}

void
ScanSpillRead(ScanSpill *spill, void *bytes, Size length)
{
	if (BufFileRead(spill->reading->file, bytes, length) != length)
		fail("read from");
}

/* Leave out bytes of a value. */
void
ScanSpillSkip(ScanSpill *spill, Size length)
{
	if (BufFileSeek(spill->reading->file, 0, (off_t) length, SEEK_CUR) != 0)
		fail("seek in");
}

/* Copy bytes of the value that is read to the value that is written. */
void
ScanSpillCopy(ScanSpill *spill, Size length)
{
	char *bytes = palloc(Min(length, COPY_BYTES));

	while (length > 0)
	{
		Size some = Min(length, COPY_BYTES);

		ScanSpillRead(spill, bytes, some);
		ScanSpillWrite(spill, bytes, some);
		length -= some;
	}
	pfree(bytes);
}

/* Drop all parts. */
void
ScanSpillReset(ScanSpill *spill)
{
	ListCell *cell;

	end_writing(spill);
	foreach (cell, spill->waiting)
		close_part(lfirst(cell));
	list_free(spill->waiting);
	spill->waiting = NIL;
}
