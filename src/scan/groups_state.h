/*
 * groups_state.h
 *		The groups of a column scan, for groups.c and groups_find.c.
 *
 * src/scan/groups_state.h
 */
#ifndef QS_SCAN_GROUPS_STATE_H
#define QS_SCAN_GROUPS_STATE_H

#include "scan/groups.h"
#include "scan/groups_sorting.h"

#define RECENT_GROUPS 1024 /* a power of two */

/* The aggregates lie behind the values, which are what is looked at first. */
typedef struct ScanGroup
{
	uint64 sorting; /* number of the last sorting in which the group had tuples */
	int place;      /* its index among the groups of that sorting */
	struct ScanGroup *next;
	struct ScanGroup *same_bits; /* another group whose values have the same bits */
	ScanAggregate *column;
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
	Size limit;        /* for all states, in bytes */
	uint64 most;       /* the most groups in a turn */
	bool once;         /* no group is asked for again */
	bool full;         /* no further group is made in this turn */
	bool apart;        /* new groups have their sketches on a GPU until they are returned */
	bool complete;     /* nothing was spilled or freed, so the groups can be returned again */

	MemoryContext context; /* of the groups of this turn */
	KeptTable kept;        /* in that context: the dense table that groups use in turn */
	struct groupmap_hash *map;
	ScanGroup *first; /* in the order in which they came */
	ScanGroup *last;
	ScanGroup *before;  /* the group made before the last one */
	ScanGroup *recent;  /* the group of the last tuple */
	ScanGroup *waiting; /* the group to return next */
	ScanGroup *given;   /* the group that was returned last */
	uint64 groups;
	uint64 spilled; /* rows of this turn */

	ScanSpill *spill;
	MemoryContext scratch; /* while spilled rows are read */
	Sorting sorting;
	RecentGroup recently[RECENT_GROUPS];
};

/* groups.c */
extern void ScanGroupFlush(const ScanGroups *groups, ScanGroup *group);

/* groups_find.c */
extern void ScanGroupsClearMap(ScanGroups *groups);
extern void ScanGroupsSort(ScanGroups *groups, PageTuples *tuples, bool wanted);

#endif
