/*
 * process.c
 *		The secret of this process (base/slot.h), and nonces; waits; values that processes of a
 *		parallel scan pass through shared memory.
 *
 * The secret is random, and drawn when the library is loaded.  Where the postmaster loads
 * the library, each of its children draws another one before it does anything else.
 *
 * src/pgbase/process.c
 */
#include "pgbase/process.h"

#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "access/parallel.h"
#include "base/hash.h"
#include "base/slot.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "portability/instr_time.h"
#include "storage/dsm_impl.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "storage/spin.h"
#include "utils/guc.h"

/* So long a latch is polled before a wait, and so often between two looks at the clock. */
#define POLL_US 100
#define POLLS   64

static bool
draw(void)
{
	uint64 random[QB_SECRET_WORDS];
	bool drawn = pg_strong_random(random, sizeof(random));

	if (drawn)
		qb_set_secret(random);
	return drawn;
}

/* A child that cannot draw keeps the postmaster's secret, which is random, too. */
static void
draw_in_child(void)
{
	(void) draw();
}

/* Called once, when the library is loaded. */
void
SecretInit(void)
{
	if (!draw())
		ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
						errmsg("could not generate random number for hash tables")));
	if (process_shared_preload_libraries_in_progress)
		pthread_atfork(NULL, NULL, draw_in_child);
}

/*
 * ---- numbers that no two states share, as seeds of their draws ----
 *
 * They are random.  For tests, qsketch.filter_nonce makes them repeatable: then they
 * come from the setting, the number of the parallel worker, and how many nonces the
 * process has made for the client's statement.  So a repeated statement draws the same.
 * 0 is never returned: it stands for rows with ids of their own.
 *
 * Worker and count are mixed in two steps.  In one step the second state of one worker
 * could get the number of the first state of the next.
 */

static int setting;

void
NonceInit(void)
{
	DefineCustomIntVariable(
		"qsketch.filter_nonce",
		"Developer option: sets the nonce of filters without row ids; 0 draws one at random.",
		"Any other nonce makes tests repeatable. Filters of several statements "
		"then set the same bits for the same rows, and should not be merged.",
		&setting, 0, 0, INT_MAX, PGC_USERSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}

static uint64
random_nonce(void)
{
	uint64 nonce;

	if (!pg_strong_random(&nonce, sizeof(nonce)))
		ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
						errmsg("could not generate random number for a filter")));
	return nonce;
}

static uint64
repeatable_nonce(void)
{
	static TimestampTz statement;
	static uint64 count;
	TimestampTz now = GetCurrentStatementStartTimestamp();

	if (now != statement)
		count = 0;
	statement = now;
	/* ParallelWorkerNumber is -1 in the leader. */
	return qb_mix64(qb_mix64((uint64) setting ^ (uint64) (ParallelWorkerNumber + 1) << 32) ^
					count++);
}

uint64
NonceNew(void)
{
	uint64 nonce = setting ? repeatable_nonce() : random_nonce();

	return nonce ? nonce : 1;
}

/*
 * ---- values that processes of a parallel scan pass through shared memory ----
 *
 * A value that goes to the leader in a row goes piece by piece through a queue of 64
 * kB.  The processes of a scan merge their values faster in the shared memory that
 * Gather gives to the nodes below it.  Each process writes serialized bytes there,
 * and notes their location in the scan's own shared state, which only the scan can
 * read or write.
 */

/* By which factor segments may be larger than requested; and the size of the first one. */
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
 * Can each process of a parallel plan get so many bytes at the same time?  If the
 * system has no room, PostgreSQL raises an error, which nobody can catch in a worker.
 * Containers often have no more than 64 MB of shared memory.
 *
 * A segment is at least as large as requested.  The first has at least 1 MB.  A later
 * one exceeds the request at most by the size of all segments before it, which is at
 * most the size of all existing ones.
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
 * Is there room for segments of so many bytes in all, and for small additional ones?
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
 * Memory for a value of this size, for which there must be room.  The caller writes the
 * value; a process that knows "place" can read it until it is freed.
 */
void *
SegmentPut(dsa_area *area, Size size, dsa_pointer *place)
{
	*place = dsa_allocate_extended(area, size, DSA_ALLOC_HUGE);
	return dsa_get_address(area, *place);
}

/* ---- waits ---- */

static bool
is_soon_set(const volatile Latch *latch)
{
	instr_time start;
	instr_time now;
	int i;

	INSTR_TIME_SET_CURRENT(start);
	do
	{
		for (i = 0; i < POLLS; i++)
		{
			if (latch->is_set)
				return true;
			SPIN_DELAY();
		}
		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_SUBTRACT(now, start);
	}
	while (INSTR_TIME_GET_MICROSEC(now) < POLL_US);
	return false;
}

void
PollLatch(long timeout, uint32 event)
{
	int events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (timeout >= 0 ? WL_TIMEOUT : 0);

	if (!is_soon_set(MyLatch))
		(void) WaitLatch(MyLatch, events, timeout, event);
}
