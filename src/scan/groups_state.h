/*
 * groups_state.h
 *		The groups of a column scan, for the files that find, write and merge them.
 *
 * src/scan/groups_state.h
 */
#ifndef QS_SCAN_GROUPS_STATE_H
#define QS_SCAN_GROUPS_STATE_H

#include "scan/groups.h"
#include "scan/groups_sorting.h"
#include "scan/spill.h"

#include "utils/memutils.h"

#define RECENT_GROUPS 1024 /* a power of two */

/* A value of a group in the part that is read: its aggregates are at this place. */
typedef struct WrittenGroup
{
	SpillPlace place;
	struct WrittenGroup *next; /* it was written later */
} WrittenGroup;

/* The values of the key are what is looked at first. */
typedef struct ScanGroup
{
	uint64 sorting; /* number of the last sorting in which the group had tuples */
	int place;      /* its index among the groups of that sorting */
	struct ScanGroup *next;
	struct ScanGroup *same_bits; /* another group whose values have the same bits */
	ScanAggregate *column;       /* behind the key; NULL: the group was written */
	WrittenGroup *written;       /* the first of its values */
	WrittenGroup *written_last;
	GroupValue value[FLEXIBLE_ARRAY_MEMBER]; /* of each field of the key */
} ScanGroup;

/* A group that had rows lately, of an integer.  It saves looking the group up. */
typedef struct RecentGroup
{
	int64 bits;
	ScanGroup *group; /* NULL: none */
} RecentGroup;

struct ScanGroups
{
	const ScanAggregate *model; /* the columns of a new group, without states */
	int count;
	WantedRows *rows;
	GroupKey *key;
	GroupValue *value; /* of the last tuple, for each field of the key */
	Size limit;        /* for all groups, in bytes */
	Size most;         /* when they take more, some of them are written */
	bool once;         /* no group is asked for again */
	bool complete;     /* nothing was written or freed, so the groups can be returned again */

	MemoryContext context; /* of the groups */
	KeptTable kept;        /* in that context: the dense table that groups use in turn */
	struct groupmap_hash *map;
	ScanGroup *first; /* in the order in which they came */
	ScanGroup *last;
	ScanGroup *recent;  /* the group of the last tuple */
	ScanGroup *waiting; /* the group to return next */
	ScanGroup *given;   /* the group that was returned last */
	uint64 groups;

	ScanSpill *spill;      /* groups that were written */
	ScanCounts written;    /* what was counted in them */
	MemoryContext scratch; /* while a group is written, or a key is read */
	MemoryContext result;  /* the values of the group that was returned last, if it was written */
	ScanAggregate *merged; /* its aggregates */
	Sorting sorting;
	RecentGroup recently[RECENT_GROUPS];
};

/* groups.c */
extern void ScanGroupCount(const ScanGroups *groups, const ScanGroup *group, ScanCounts *counts);
extern void ScanGroupsClear(ScanGroups *groups);

/* groups_find.c */
extern void ScanGroupsClearMap(ScanGroups *groups);
extern void ScanGroupsMapAnew(ScanGroups *groups);
extern ScanGroup *ScanGroupOfKey(ScanGroups *groups, bool written);
extern void ScanGroupsSort(ScanGroups *groups, PageTuples *tuples);

/* groups_value.c: a group as a value in a file. */
extern void ScanGroupWrite(ScanGroups *groups, const ScanGroup *group);
extern void ScanGroupReadKey(ScanGroups *groups, GroupValue *value);
extern void ScanGroupPassOver(ScanGroups *groups, const GroupValue *key);
extern void ScanGroupMerge(ScanGroups *groups, const SpillPlace *place, ScanAggregate *column);
extern void ScanGroupTake(ScanGroups *groups, const SpillPlace *place, ScanAggregate *column,
						  TupleTableSlot *slot);

/* groups_write.c: which groups are written. */
extern void ScanGroupsMakeRoom(ScanGroups *groups, int done);
extern void ScanGroupsKeepLimit(ScanGroups *groups);
extern void ScanGroupsWriteAll(ScanGroups *groups);

/* groups_merge.c: groups that were written. */
extern bool ScanGroupsReadPart(ScanGroups *groups);
extern void ScanGroupsMerged(ScanGroups *groups, const ScanGroup *group, TupleTableSlot *slot);
extern void ScanGroupsMergedEnd(ScanGroups *groups);

/* Bytes of all groups, but for the dense table that they use in turn. */
static inline Size
ScanGroupsMemory(const ScanGroups *groups)
{
	return MemoryContextMemAllocated(groups->context, true) - groups->kept.bytes;
}

#endif
