/*
 * spill.c
 *		Values of groups in temporary files.
 *
 * When groups take too much memory, some of them are written to files, each as one value
 * with its key, and are freed (groups_write.c).  A group whose rows go on is made anew,
 * so a key may have several values.  They are merged at the end (groups_merge.c).
 *
 * All values of a key go into the same file, one of some, chosen by a hash of the key's
 * bits.  Then one file after the other is read.  If it has too many keys for the memory that
 * their places take, its values are divided among files again, by another hash, so that a
 * level divides what those before it left together.
 *
 * src/scan/spill.c
 */
#include "scan/spill.h"

#include "base/slot.h"
#include "utils/memutils.h"

#define PARTS_MOST  64
#define PARTS_LEAST 8

/* Parts of the limit: the buffers of all files, and a file that is read at once. */
#define BUFFERS_SHARE 8
#define LOADED_SHARE  4

/* Bytes that are copied at a time. */
#define COPY_BYTES (8 * BLCKSZ)

typedef struct SpillPart
{
	BufFile *file;
	uint64 values;
	Size bytes;
	int level; /* how often these values were divided before */
} SpillPart;

struct ScanSpill
{
	MemoryContext context;
	Size limit;                  /* of memory, for all groups */
	int parts;                   /* among which values are divided */
	SpillPart *part[PARTS_MOST]; /* to which values are written; NULL: none yet */
	SpillPart *writing;          /* the one of the last value */
	SpillPart *reading;          /* NULL: the values come from the table */
	char *loaded;                /* its bytes, if they are few; else NULL */
	Size at;                     /* where they are read */
	uint64 left;                 /* values of "reading" that were not read yet */
	List *waiting;               /* parts that wait to be read */
};

/* The limit is that of the memory of all groups. */
ScanSpill *
ScanSpillCreate(MemoryContext context, Size limit)
{
	ScanSpill *spill = MemoryContextAllocZero(context, sizeof(ScanSpill));
	Size parts = limit / BUFFERS_SHARE / BLCKSZ;

	spill->context = context;
	spill->limit = limit;
	spill->parts = (int) Max(PARTS_LEAST, Min(parts, PARTS_MOST));
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
 * part would crowd in a small share of their table.
 */
static SpillPart **
part_of(ScanSpill *spill, int64 bits)
{
	uint64 hash = qb_slot_hash_wide((uint64) bits, (uint64) ScanSpillLevel(spill));

	return &spill->part[qb_slot_of(hash, spill->parts)];
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
	SpillPart **part = part_of(spill, bits);

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
	spill->writing->bytes += length;
}

/* Queue the parts that were written.  They go first, so that few files exist at a time. */
static void
end_writing(ScanSpill *spill)
{
	MemoryContext old = MemoryContextSwitchTo(spill->context);
	int i;

	close_part(spill->reading);
	spill->reading = spill->writing = NULL;
	if (spill->loaded)
		pfree(spill->loaded);
	spill->loaded = NULL;
	for (i = 0; i < spill->parts; i++)
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
	ScanSpillSeek(spill, &(SpillPlace){ 0 });
	spill->left = spill->reading->values;
}

/* Read all bytes of a part that is small: single values are read much faster then. */
static void
load(ScanSpill *spill)
{
	Size size = spill->reading->bytes;
	char *bytes;

	if (size > spill->limit / LOADED_SHARE)
		return;
	bytes = MemoryContextAllocHuge(spill->context, size);
	ScanSpillRead(spill, bytes, size);
	spill->loaded = bytes;
	ScanSpillRewind(spill);
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
	load(spill);
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
	SpillPlace place = { .offset = (off_t) spill->at };

	if (spill->loaded == NULL)
		BufFileTell(spill->reading->file, &place.file, &place.offset);
	return place;
}

void
ScanSpillSeek(ScanSpill *spill, const SpillPlace *place)
{
	spill->at = (Size) place->offset;
	if (spill->loaded == NULL &&
		BufFileSeek(spill->reading->file, place->file, place->offset, SEEK_SET) != 0)
		fail("seek in");
}

void
ScanSpillRead(ScanSpill *spill, void *bytes, Size length)
{
	if (spill->loaded)
		memcpy(bytes, spill->loaded + spill->at, length);
	else if (BufFileRead(spill->reading->file, bytes, length) != length)
		fail("read from");
	spill->at += length;
}

/* Leave out bytes of a value. */
void
ScanSpillSkip(ScanSpill *spill, Size length)
{
	spill->at += length;
	if (spill->loaded == NULL &&
		BufFileSeek(spill->reading->file, 0, (off_t) length, SEEK_CUR) != 0)
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
