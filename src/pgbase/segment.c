/*
 * segment.c
 *		Shared memory of a parallel query: whether there is room, and values that all processes
 *		merge, slice by slice.
 *
 * A worker sends a row to the leader through a queue of 64 kB.  A value in the row is sent piece by
 * piece, and the leader alone merges the values of all workers.  Large values are merged by all
 * processes, in the shared memory that Gather gives to the nodes below it:
 *
 *	The shared value lies there in slices.  Each slice has a lock.
 *	A process that has no more pages adds its value, slice by slice.
 *	One process, which comes after all others, takes the slices.
 *
 * Each process begins at a slice of its own, so all processes add at the same time, each to another
 * slice.  While some processes read pages, others may add already.  There is one shared value,
 * however many processes there are.
 *
 * The least time that this takes: each process must read its value from memory once, and read and
 * write the shared value once.
 *
 * Interrupts wait while a process has the lock of a slice, which is small enough for that to be short.
 * An error ends the query, so nobody sees a slice that is half made.
 *
 * A process may join the scan after other processes have left.  All pages have been read by then, so
 * this process has no keys and adds nothing.
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
 * Limits of a slice's bytes, and the most slices.  The tables of the first value have 64 kB to 4 MB
 * for each slice.  Within these limits a value has up to 128 slices, so that each process can be at
 * another slice.
 */
#define LEAST_SLICE (64 * 1024)
#define MOST_SLICE  (4 * 1024 * 1024)
#define SLICES      128

/* Values up to this size, which is that of a parallel worker's queue, go through the queue. */
#define SMALL_VALUE (64 * 1024)

/* The factor by which a segment may be larger than requested, and the size of the first segment. */
#define SEGMENT_SLACK 3
#define FIRST_SEGMENT (1024 * 1024)

/* The directory with the files of segments, and how their names begin; path NULL: no files. */
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

/* The size of all existing segments. */
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
 * True if each process of a parallel plan can get this many bytes at the same time.  If the system
 * has no room, PostgreSQL raises an error, which nobody can catch in a worker.  Containers often
 * have no more than 64 MB of shared memory.
 *
 * A segment is at least as large as requested.  The first segment has at least 1 MB.  A later
 * segment exceeds the request at most by the size of all segments before it, which is at most the
 * size of all existing segments.
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
 * True if there is room for segments of this many bytes in all, and for small additional ones.
 * Kinds of shared memory whose room is not known count as large enough.
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
 * Memory for a value of this size, for which there must be room.  The caller writes the value.  A
 * process that knows "pointer" can read the value until it is freed.
 */
void *
SegmentPut(dsa_area *area, Size size, dsa_pointer *pointer)
{
	*pointer = dsa_allocate_extended(area, size, DSA_ALLOC_HUGE);
	return dsa_get_address(area, *pointer);
}

/* ---- tables in shared memory ---- */

/* What lies before a table.  A table of more than 8 kB is aligned to a cache line. */
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
 * Give the lock a name of PostgreSQL's own, because there are few numbers for other names, and they
 * are never given back.
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

/* The first unit of a slice. */
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
 * Count a value in.  The first value also makes the slices.  False: there is no room.  If an
 * earlier run had room, there is room, because its memory is kept.
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

/* The slice at which this process begins.  The processes are spread over all slices. */
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

/* Take over the slices that were added to.  Another process that does so later finds nothing. */
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
