/*
 * segment.c
 *		Shared memory of a parallel query: its free size, and a value that all processes merge in
 *		slices.
 *
 * A worker sends a row to the leader through a queue of 64 kB.  A large value passes through the
 * queue in pieces, and only the leader merges the values of all workers.  So all processes merge
 * large values, in the shared memory of Gather:
 *
 *	The shared value consists of slices, each with a lock.
 *	A process that has read its last page adds its value, slice by slice.
 *	After all processes have added their values, one process adds the slices to its state.
 *
 * A hash chooses the slice at which a process begins, so most processes add to different slices at
 * the same time.  A process may add its value while other processes read pages.  The size of the
 * shared value does not depend on the number of processes.
 *
 * The time of merging has a lower limit: each process must read its value from memory, and must
 * read and write the shared value.
 *
 * Interrupts are held off while a process has the lock of a slice.  This time is short, because
 * slices are small.  An error ends the query, so no process reads an incomplete slice.
 *
 * A process may begin the scan after other processes have ended it.  All pages are assigned by
 * then, so this process has no keys and adds nothing.
 *
 * src/pgbase/segment.c
 */
#include "pgbase/segment.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "access/parallel.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "storage/dsm_impl.h"
#include "storage/fd.h"

/*
 * Minimum and maximum bytes of a slice, and the number of slices within these limits.  With 128
 * slices, each process can use a different slice.
 */
#define LEAST_SLICE (64 * 1024)
#define MOST_SLICE  (4 * 1024 * 1024)
#define SLICES      128

/* Values up to this size are sent through a worker's queue, which has this size. */
#define SMALL_VALUE (64 * 1024)

/* The factor by which all segments may exceed the requests, and the size of the first segment. */
#define SEGMENT_SLACK 3
#define FIRST_SEGMENT (1024 * 1024)

/*
 * The directory of the files of segments, and the prefix of their names.  NULL: segments are no
 * files.
 */
typedef struct SegmentFiles
{
	const char *path;
	const char *prefix;
} SegmentFiles;

static SegmentFiles
segment_files(void)
{
#ifdef USE_DSM_POSIX
	if (dynamic_shared_memory_type == DSM_IMPL_POSIX)
		return (SegmentFiles){ "/dev/shm", "PostgreSQL." };
#endif
#ifdef USE_DSM_MMAP
	if (dynamic_shared_memory_type == DSM_IMPL_MMAP)
		return (SegmentFiles){ PG_DYNSHMEM_DIR, PG_DYNSHMEM_MMAP_FILE_PREFIX };
#endif
	return (SegmentFiles){ NULL, NULL };
}

/* Return the total size of all existing segments. */
static uint64
bytes_in_use(const SegmentFiles *files)
{
	DIR *directory = AllocateDir(files->path);
	uint64 bytes = 0;
	struct dirent *entry;

	while ((entry = ReadDirExtended(directory, files->path, DEBUG1)) != NULL)
	{
		char path[MAXPGPATH];
		struct stat file;

		if (strncmp(entry->d_name, files->prefix, strlen(files->prefix)) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", files->path, entry->d_name);
		if (stat(path, &file) == 0)
			bytes += (uint64) file.st_size;
	}
	FreeDir(directory);
	return bytes;
}

/*
 * True if all processes of a parallel plan can allocate this many bytes each, or if the free size
 * is unknown.  If shared memory runs out, PostgreSQL raises an error, which a worker cannot catch.
 * Containers often have only 64 MB of shared memory.
 *
 * A segment is at least as large as requested.  The first segment has at least 1 MB.  A later
 * segment exceeds the request by at most the size of all existing segments.
 */
bool
SegmentHasRoom(Size bytes)
{
	SegmentFiles files = segment_files();
	uint64 all = SEGMENT_SLACK * (uint64) bytes * (max_parallel_workers_per_gather + 2);
	struct statvfs fs;

	if (files.path == NULL || statvfs(files.path, &fs) != 0 || fs.f_blocks == 0)
		return true;
	return (uint64) fs.f_bavail * fs.f_frsize > all + FIRST_SEGMENT + bytes_in_use(&files);
}

/*
 * True if segments of this many bytes in total fit into the free shared memory, with 1 MB to
 * spare.  Also true if the free size is unknown.
 */
bool
SegmentsFit(Size bytes)
{
	struct statvfs fs;
	const char *where = NULL;

	if (dynamic_shared_memory_type == DSM_IMPL_MMAP)
		where = PG_DYNSHMEM_DIR;
#ifdef USE_DSM_POSIX
	if (dynamic_shared_memory_type == DSM_IMPL_POSIX)
		where = "/dev/shm";
#endif
	if (where == NULL || statvfs(where, &fs) != 0 || fs.f_blocks == 0)
		return true;
	return (uint64) fs.f_bavail * fs.f_frsize > (uint64) bytes + FIRST_SEGMENT;
}

/*
 * Allocate shared memory for a value.  The caller has checked that there is free memory, and writes
 * the value.  A process that knows "pointer" can read the value until the value is freed.
 */
void *
SegmentPut(dsa_area *area, Size size, dsa_pointer *pointer)
{
	*pointer = dsa_allocate_extended(area, size, DSA_ALLOC_HUGE);
	return dsa_get_address(area, *pointer);
}

/* ---- tables in shared memory ---- */

/* The header before a table.  Tables of more than 8 kB are aligned to a cache line. */
typedef struct TableHead
{
	dsa_pointer pointer;
	char rest[QB_CACHE_LINE - sizeof(dsa_pointer)];
} TableHead;

static void *
alloc(void *area, size_t bytes)
{
	dsa_pointer pointer = dsa_allocate_extended(area, sizeof(TableHead) + bytes,
												DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM | DSA_ALLOC_ZERO);
	TableHead *head;

	if (!DsaPointerIsValid(pointer))
		return NULL;
	head = dsa_get_address(area, pointer);
	head->pointer = pointer;
	return head + 1;
}

static void
release(void *area, void *table)
{
	dsa_free(area, SegmentPointer(table));
}

const qb_memory *
SegmentMemory(dsa_area *area, qb_memory *memory)
{
	*memory = (qb_memory){ .alloc = alloc, .release = release, .context = area };
	return memory;
}

dsa_pointer
SegmentPointer(const void *table)
{
	return table ? ((const TableHead *) table)[-1].pointer : InvalidDsaPointer;
}

void *
SegmentAddress(dsa_area *area, dsa_pointer pointer)
{
	return DsaPointerIsValid(pointer) ? (TableHead *) dsa_get_address(area, pointer) + 1 : NULL;
}

/* ---- a value that all processes of a parallel scan merge ---- */

/*
 * Give the lock a tranche of PostgreSQL.  PostgreSQL has few numbers for new tranches, and never
 * frees a number.
 */
static void
init_lock(LWLock *lock)
{
	LWLockInitialize(lock, LWTRANCHE_PARALLEL_QUERY_DSA);
}

void
SharedValueInit(SharedValue *shared)
{
	memset(shared, 0, sizeof(*shared));
	init_lock(&shared->lock);
}

static SharedSlice *
slice_at(const SharedValue *shared, uint32 number, dsa_area *area)
{
	char *slices = dsa_get_address(area, shared->slice_data);

	return (SharedSlice *) (slices + number * shared->slice_size);
}

/* Return the first unit of a slice. */
static uint64
unit_at(const SharedValue *shared, uint32 number)
{
	return shared->units * number / shared->slices;
}

static void
free_tables(SharedSlice *slice, dsa_area *area)
{
	int i;

	for (i = 0; i < (int) lengthof(slice->table); i++)
		if (DsaPointerIsValid(slice->table[i]))
			dsa_free(area, slice->table[i]);
	memset(slice->table, 0, sizeof(slice->table));
}

void
SharedValueReset(SharedValue *shared, dsa_area *area)
{
	uint32 i;

	if (!DsaPointerIsValid(shared->slice_data))
		return;
	for (i = 0; i < shared->slices; i++)
		free_tables(slice_at(shared, i, area), area);
	dsa_free(area, shared->slice_data);
	shared->slice_data = InvalidDsaPointer;
	shared->count = 0;
}

static uint32
slices_of(uint64 units, Size bytes)
{
	uint64 slices = Max(Min(bytes / LEAST_SLICE, SLICES), bytes / MOST_SLICE + 1);

	return (uint32) Min(units, slices);
}

/*
 * Register a value that this process will add: increase shared->count by its number of keys.  The
 * first value also allocates the slices.  False: the value does not fit into memory.  A value that
 * fitted in an earlier run fits again, because the area keeps its memory.
 */
static bool
begin_add(SharedValue *shared, const KeyedState *state, uint64 units, Size bytes, dsa_area *area)
{
	bool allocated;
	bool room;
	uint32 i;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	allocated = DsaPointerIsValid(shared->slice_data);
	room = bytes <= shared->had || SegmentHasRoom(bytes);
	if (room)
		shared->had = Max(shared->had, bytes);
	if (room && !allocated)
	{
		shared->units = units;
		shared->slices = slices_of(units, bytes);
		shared->slice_size =
			MAXALIGN(offsetof(SharedSlice, data) + StateTypeOf(state)->slices->size);
		shared->slice_data = dsa_allocate0(area, shared->slices * shared->slice_size);
		for (i = 0; i < shared->slices; i++)
			init_lock(&slice_at(shared, i, area)->lock);
	}
	if (room && shared->units != units)
		elog(ERROR, "processes of a scan have values of different sizes");
	shared->count += room ? state->count : 0;
	LWLockRelease(&shared->lock);
	return room;
}

/*
 * Return the slice at which this process begins.  A hash of the process's number spreads the
 * processes over all slices.
 */
static uint32
first_slice(uint32 slices)
{
	uint32 number = (uint32) (ParallelWorkerNumber + 1); /* 0 in the leader */

	return (uint32) ((uint64) (number * 0x9E3779B9) * slices >> 32);
}

bool
SharedValueAdd(SharedValue *shared, KeyedState *state, dsa_area *area)
{
	const StateSlices *type = StateTypeOf(state)->slices;
	Size bytes = 0;
	uint64 units = type && !state->removed ? type->units(state, &bytes) : 0;
	uint32 first, i;

	if (units == 0 || bytes <= SMALL_VALUE || !begin_add(shared, state, units, bytes, area))
		return false;
	first = first_slice(shared->slices);
	for (i = 0; i < shared->slices; i++)
	{
		uint32 number = (first + i) % shared->slices;
		SharedSlice *slice = slice_at(shared, number, area);
		uint64 unit = unit_at(shared, number);

		LWLockAcquire(&slice->lock, LW_EXCLUSIVE);
		type->add(state, unit, unit_at(shared, number + 1) - unit, slice, area);
		LWLockRelease(&slice->lock);
		CHECK_FOR_INTERRUPTS();
	}
	type->clear(state);
	state->count = 0;
	return true;
}

/* Take over the slices.  A later call finds no slices. */
static SharedValue
take_over(SharedValue *shared)
{
	SharedValue taken;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	taken = *shared;
	shared->slice_data = InvalidDsaPointer;
	shared->count = 0;
	LWLockRelease(&shared->lock);
	return taken;
}

void
SharedValueTake(SharedValue *shared, KeyedState *state, dsa_area *area)
{
	const StateSlices *type = StateTypeOf(state)->slices;
	SharedValue taken = take_over(shared);
	uint32 i;

	if (!DsaPointerIsValid(taken.slice_data))
		return;
	StateTypeOf(state)->flush(state);
	StateBeginCounting(state);
	for (i = 0; i < taken.slices; i++)
	{
		SharedSlice *slice = slice_at(&taken, i, area);
		uint64 unit = unit_at(&taken, i);

		type->take(state, unit, unit_at(&taken, i + 1) - unit, slice, area);
		free_tables(slice, area);
		CHECK_FOR_INTERRUPTS();
	}
	dsa_free(area, taken.slice_data);
	state->count += taken.count;
	StateEndCounting(state);
}
