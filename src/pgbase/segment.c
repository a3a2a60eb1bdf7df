/*
 * segment.c
 *		Values passed between the processes of a parallel scan.
 *
 * What goes to the leader as a value goes through a queue of 64 kB, piece by
 * piece.  The processes of a scan merge their values faster in the shared
 * memory that Gather gives to the nodes below it: each writes serialized bytes
 * there, and notes where in the scan's own shared state, which nothing but the
 * scan can read or write.
 *
 * src/pgbase/segment.c
 */
#include "pgbase/segment.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "optimizer/cost.h"
#include "storage/dsm_impl.h"
#include "storage/fd.h"

/* How much larger than what is asked of them segments may be, and the first one. */
#define SEGMENT_SLACK 3
#define FIRST_SEGMENT (1024 * 1024)

/* Where segments are files, and how their names begin; path NULL: they are none. */
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

/* Bytes of all segments that there are. */
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
 * Will the system give so many bytes to each process of a parallel plan, at the
 * same time?  PostgreSQL raises an error if it does not, which nobody can catch
 * in a worker, and containers often have no more than 64 MB of shared memory.
 *
 * A segment is as large as what is asked of it; at least, the first has 1 MB,
 * and a later one at most that more than those before it, which cannot be more
 * than all that there are.
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
 * Is there room for segments of so many bytes in all, and for what else is
 * small?  Of other kinds of shared memory nobody knows.
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
 * Memory for a value of this size, for which there is room.  The caller writes
 * it; whoever has the place finds it there until it is freed.
 */
void *
SegmentPut(dsa_area *area, Size size, dsa_pointer *place)
{
	*place = dsa_allocate_extended(area, size, DSA_ALLOC_HUGE);
	return dsa_get_address(area, *place);
}
