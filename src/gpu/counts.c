/*
 * counts.c
 *		The counters of qsketch_stat_gpu: reading and resetting them, and keeping them over
 *		restarts of the server.
 *
 * Whoever counts adds to a counter in gpu_shared, which is an atomic addition.  From
 * PostgreSQL 18 on the server's cumulative statistics (pgbase/stat_kind.h) have what was
 * counted in earlier runs of the server beside it: what is shown, and saved at shutdown,
 * is the sum.
 *
 * src/gpu/counts.c
 */
#include "gpu/counts.h"

#include "pgbase/stat_kind.h"

/* Set the counters of this run of the server to zero. */
static void
reset_now(TimestampTz since)
{
	int i;

	if (gpu_shared == NULL)
		return;
	for (i = 0; i < GPU_COUNTERS; i++)
		pg_atomic_write_u64(&gpu_shared->counter[i], 0);
	pg_atomic_write_u64(&gpu_shared->since, (uint64) since);
}

#if PG_VERSION_NUM >= 180000

/* In shared memory: what was counted in earlier runs of the server. */
typedef struct GpuPast
{
	LWLock lock; /* of "kept" */
	StatKept kept;
} GpuPast;

static bool use_kind = false;

static void
init_past(void *memory)
{
	LWLockInitialize(&((GpuPast *) memory)->lock, LWTRANCHE_PGSTATS_DATA);
}

static void
reset_all(TimestampTz now)
{
	GpuPast *past = pgstat_get_custom_shmem_data(STAT_KIND_GPU);

	LWLockAcquire(&past->lock, LW_EXCLUSIVE);
	memset(&past->kept, 0, sizeof(past->kept));
	past->kept.since = now;
	reset_now(now);
	LWLockRelease(&past->lock);
}

/* The sum of all runs: for the view, and for the file. */
static void
take_snapshot(void)
{
	GpuPast *past = pgstat_get_custom_shmem_data(STAT_KIND_GPU);
	StatKept *sum = pgstat_get_custom_snapshot_data(STAT_KIND_GPU);
	int i;

	LWLockAcquire(&past->lock, LW_SHARED);
	*sum = past->kept;
	for (i = 0; gpu_shared && i < GPU_COUNTERS; i++)
		sum->counter[i] += pg_atomic_read_u64(&gpu_shared->counter[i]);
	LWLockRelease(&past->lock);
}

static PgStat_KindInfo kind_info = {
	.name = "qsketch_stat_gpu",
	.fixed_amount = true,
	.write_to_file = true,
	.shared_size = sizeof(GpuPast),
	.shared_data_off = offsetof(GpuPast, kept),
	.shared_data_len = sizeof(StatKept),
	.init_shmem_cb = init_past,
	.reset_all_cb = reset_all,
	.snapshot_cb = take_snapshot,
};

static void
init_kind(void)
{
	StaticAssertStmt(GPU_COUNTERS <= STAT_ROOM, "the statistics file has room for all counters");
	use_kind = StatKindRegister(STAT_KIND_GPU, &kind_info);
}

static void
read_kind(GpuCounts *counts)
{
	const StatKept *sum;

	pgstat_snapshot_fixed(STAT_KIND_GPU);
	sum = pgstat_get_custom_snapshot_data(STAT_KIND_GPU);
	counts->since = sum->since;
	memcpy(counts->counter, sum->counter, sizeof(counts->counter));
}

static void
reset_kind(void)
{
	pgstat_reset_of_kind(STAT_KIND_GPU);
}

#else

#define use_kind      false
#define init_kind()   ((void) 0)
#define read_kind(to) ((void) 0)
#define reset_kind()  ((void) 0)

#endif

/* From _PG_init. */
void
GpuCountsInit(void)
{
	init_kind();
}

/* What was counted, where there is a worker: gpu_shared is not NULL. */
void
GpuReadCounts(GpuCounts *counts)
{
	int i;

	if (use_kind)
	{
		read_kind(counts);
		return;
	}
	counts->since = (TimestampTz) pg_atomic_read_u64(&gpu_shared->since);
	for (i = 0; i < GPU_COUNTERS; i++)
		counts->counter[i] = pg_atomic_read_u64(&gpu_shared->counter[i]);
}

/* Count anew; false: there are no counters. */
bool
GpuResetCounts(void)
{
	if (use_kind)
		reset_kind();
	else
		reset_now(GetCurrentTimestamp());
	return use_kind || gpu_shared != NULL;
}
