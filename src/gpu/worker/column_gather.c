/*
 * column_gather.c
 *		Gathers the wanted keys of cached columns in device memory.
 *
 * The device tests the rows, and writes the keys of the rows that pass, in each of these cases:
 * the request has tests; the column of the keys has NULLs; the request has groups; the projection
 * is not PROJECT_KEYS; the keys of several chunks must be copied into one array.  In all other
 * cases, all rows of the wanted pages pass, and the values are copied, or are read in the chunk's
 * array without a copy.  If a request without tests only counts rows, the worker counts them
 * without the device.
 *
 * Keys of groups are ordered by group.  One call may test the rows of several chunks, which needs
 * fewer waits than a call for each chunk.
 *
 * Rows of several columns are matched page by page.  Chunks in which a page is valid have the same
 * rows of this page, in the same order.  If the columns differ in the number of rows of the wanted
 * pages, the request is refused, and the backend reads the pages.
 *
 * src/gpu/worker/column_gather.c
 */
#include "gpu/worker/column_worker.h"

GpuChunk *gpu_chunk[GPU_HANDLES];

/* The columns of a request: the column of the keys, then the tested columns. */
typedef struct Columns
{
	const GpuChunk *column[1 + QB_SELECTION_COLUMNS];
	int count;
} Columns;

/*
 * Lists of runs and tiles of rows, one struct for each device.  A device may still read its lists
 * while the lists of another device are written.  A chunk has at most as many tiles as pages.  The
 * tiles of chunks that are gathered together follow one another.
 */
typedef struct Lists
{
	qs_cuda_run run[GPU_CHUNK_PAGES];
	qb_tile tile[2 * GPU_CHUNK_PAGES];
} Lists;

static Lists lists[GPU_DEVICES_MAX];

/* The rows of a chunk that were found so far, as runs or tiles. */
typedef struct Gathering
{
	Columns columns;
	qs_cuda_run *run;
	qb_tile *tile;
	bool tested;
	int count;       /* number of runs or tiles */
	uint32 first;    /* index of the first "alike" row */
	uint32 alike;    /* number of rows with one layout in all columns, not in tiles yet */
	uint32 compared; /* pages_alike() returns 0 for all pages before this page */
} Gathering;

/* Minimum number of consecutive pages whose layouts are compared between columns. */
#define ALIKE_LEAST 64

StaticAssertDecl(MaxHeapTuplesPerPage <= QB_TILE_ROWS, "a page does not fit into a tile");

/* Find the chunk that a request names, and note its use; NULL: the chunk was freed. */
static const GpuChunk *
find_chunk(const GpuRef *ref)
{
	const GpuChunk *h = ref->index >= 0 && ref->index < GPU_HANDLES ? gpu_chunk[ref->index] : NULL;

	if (h == NULL || h->serial != ref->serial)
		return NULL;
	GpuHandleUsed(ref->index);
	return h;
}

/* Find the chunks that a request names.  All chunks must be on one device. */
static qb_status
find_columns(const GpuRef *chunk, const GpuWanted *wanted, Columns *columns)
{
	uint32 i;

	columns->column[0] = find_chunk(chunk);
	columns->count = 1;
	if (columns->column[0] == NULL || !qb_selection_is_valid(&wanted->tests))
		return QB_NO_MEMORY;
	for (i = 0; i < wanted->tests.columns; i++)
	{
		const GpuChunk *h = find_chunk(&wanted->tested[i]);

		if (h == NULL || h->device != columns->column[0]->device)
			return QB_NO_MEMORY;
		columns->column[columns->count++] = h;
	}
	return QB_OK;
}

/* The number of rows of "pages" pages; PG_UINT32_MAX: the columns differ in this number. */
static uint32
rows_of(const Columns *columns, uint32 page, uint32 pages)
{
	const uint32 *first = columns->column[0]->first + page;
	uint32 rows = first[pages] - first[0];
	int i;

	for (i = 1; i < columns->count; i++)
	{
		first = columns->column[i]->first + page;
		if (first[pages] - first[0] != rows)
			return PG_UINT32_MAX;
	}
	return rows;
}

/* Add the rows of pages to the last run, or as a new run. */
static void
add_run(Gathering *gathering, uint32 page, uint32 rows)
{
	uint64 first = gathering->columns.column[0]->first[page];
	qs_cuda_run *last = gathering->count > 0 ? &gathering->run[gathering->count - 1] : NULL;

	if (last && last->first + last->count == first)
		last->count += rows;
	else
		gathering->run[gathering->count++] = (qs_cuda_run){ .first = first, .count = rows };
}

/* True if the page's rows follow the tile's rows in all columns. */
static bool
follows(const qb_tile *tile, const Columns *columns, uint32 page)
{
	int i;

	for (i = 0; i < columns->count; i++)
		if (tile->first[i] + tile->rows != columns->column[i]->first[page])
			return false;
	return true;
}

/* Add the "alike" rows to the tiles. */
static void
list_alike(Gathering *gathering)
{
	uint32 end = gathering->first + gathering->alike;
	uint32 row;
	int i;

	for (row = gathering->first; row < end; row += QB_TILE_ROWS)
	{
		qb_tile *tile = &gathering->tile[gathering->count++];

		tile->rows = Min(end - row, QB_TILE_ROWS);
		for (i = 0; i < gathering->columns.count; i++)
			tile->first[i] = row;
	}
	gathering->alike = 0;
}

/* Add the rows of pages to the last tile, or as a new tile. */
static void
add_tile(Gathering *gathering, uint32 page, uint32 rows)
{
	const Columns *columns = &gathering->columns;
	qb_tile *last;
	int i;

	list_alike(gathering);
	last = gathering->count > 0 ? &gathering->tile[gathering->count - 1] : NULL;
	if (last && last->rows + rows <= QB_TILE_ROWS && follows(last, columns, page))
	{
		last->rows += rows;
		return;
	}
	last = &gathering->tile[gathering->count++];
	last->rows = rows;
	for (i = 0; i < columns->count; i++)
		last->first[i] = columns->column[i]->first[page];
}

/*
 * True if "page" is a multiple of "count", and the "count" pages are all wanted and have at most
 * "most" rows together.  If the rows are tested, they must also fit into one tile.
 */
static bool
are_together(const Gathering *gathering, const GpuPages *pages, uint32 page, uint32 count,
			 uint64 most)
{
	const uint32 *first = gathering->columns.column[0]->first + page;
	uint32 i;

	if (page % count != 0 || page + count > GPU_CHUNK_PAGES)
		return false;
	for (i = page / 8; i < (page + count) / 8; i++)
		if (pages->bits[i] != 0xff)
			return false;
	return first[count] - first[0] <= (gathering->tested ? Min(most, QB_TILE_ROWS) : most);
}

/*
 * The number of pages to add in one step: 64 or 8, if they are all wanted and have few rows, else
 * 1.
 */
static uint32
pages_at_once(const Gathering *gathering, const GpuPages *pages, uint32 page, uint64 most)
{
	if (are_together(gathering, pages, page, 64, most))
		return 64;
	return are_together(gathering, pages, page, 8, most) ? 8 : 1;
}

/*
 * The number of pages, from "page" on, that are all wanted, have at most "most" rows together, and
 * have the same layout in all columns.  0: no such pages, pages that were compared before, or too
 * few pages to be worth the comparison.
 */
static uint32
pages_alike(Gathering *gathering, const GpuPages *pages, uint32 page, uint64 most)
{
	const Columns *columns = &gathering->columns;
	const uint32 *first = columns->column[0]->first;
	uint32 run;
	int i;

	if (page < gathering->compared)
		return 0;
	run = GpuPagesRun(pages, page);
	gathering->compared = page + Max(run, 1);
	if (run < ALIKE_LEAST || first[page + run] - first[page] > most)
		return 0;
	for (i = 1; i < columns->count; i++)
		if (columns->column[i]->layout != columns->column[0]->layout &&
			memcmp(&columns->column[i]->first[page], &first[page], (run + 1) * sizeof(*first)) != 0)
			return 0;
	return run;
}

/* Add the rows of "run" pages with one layout in all columns.  Returns the number of rows. */
static uint32
add_alike(Gathering *gathering, uint32 page, uint32 run)
{
	const uint32 *first = gathering->columns.column[0]->first;
	uint32 rows = first[page + run] - first[page];

	if (rows > 0 && !gathering->tested)
		add_run(gathering, page, rows);
	else if (rows > 0)
	{
		list_alike(gathering);
		gathering->first = first[page];
		gathering->alike = rows;
		if (gathering->count > 0)
			list_alike(gathering);
	}
	return rows;
}

/*
 * Add the rows of wanted pages from page "from" on: at most "most" rows, or all rows of one page.
 * *end becomes the first page that was not added.  Returns the number of rows; PG_UINT64_MAX: the
 * columns differ in this number.
 */
static uint64
gather_pages(Gathering *gathering, const GpuPages *pages, uint32 from, uint64 most, uint32 *end)
{
	uint64 gathered = 0;
	uint32 page;
	uint32 step;

	for (page = GpuPagesNext(pages, from); page < GPU_CHUNK_PAGES;
		 page = GpuPagesNext(pages, page + step))
	{
		uint32 rows;

		step = pages_alike(gathering, pages, page, most - Min(most, gathered));
		if (step > 0)
		{
			gathered += add_alike(gathering, page, step);
			continue;
		}
		step = pages_at_once(gathering, pages, page, most - Min(most, gathered));
		rows = rows_of(&gathering->columns, page, step);
		if (rows == PG_UINT32_MAX)
			return PG_UINT64_MAX;
		if (gathered > 0 && gathered + rows > most)
			break;
		gathered += rows;
		if (rows == 0)
			continue;
		if (gathering->tested)
			add_tile(gathering, page, rows);
		else
			add_run(gathering, page, rows);
	}
	*end = page;
	return gathered;
}

/* True if no row passes, because a test requires NULLs of a column without NULLs. */
static bool
none_pass(const Columns *columns, const qb_selection *tests)
{
	uint32 i;

	for (i = 0; i < tests->tests; i++)
		if (tests->test[i].kind == QB_TEST_NULL && !tests->test[i].negated &&
			columns->column[1 + tests->test[i].column]->nulls == 0)
			return true;
	return false;
}

/* Describe the rows and their tests to the device. */
static qs_cuda_copy_rows
rows_to_test(const Gathering *gathering, const qb_selection *tests, bool no_keys, uint64 count)
{
	const GpuChunk *const *column = gathering->columns.column;
	qs_cuda_copy_rows rows = {
		.keys = column[0]->values, .tests = tests, .no_keys = no_keys, .rows = count
	};
	int i;

	if (gathering->count > 0)
		rows.tile = gathering->tile;
	rows.tiles = gathering->count > 0 ? gathering->count
									  : (gathering->alike + QB_TILE_ROWS - 1) / QB_TILE_ROWS;
	rows.first = gathering->first;
	for (i = 1; i < gathering->columns.count; i++)
		rows.tested[i - 1] = column[i]->values;
	return rows;
}

/* Have the device write the keys of the rows that pass, ordered by group. */
static qb_status
split_rows(const GpuGather *g, const qs_cuda_copy_rows *rows, uint32 chunks, GpuGathered *gathered)
{
	qb_status status =
		GpuColumnOps()->split(rows, chunks, g->groups, &gathered->key, gathered->of_group);
	uint32 i;

	gathered->count = 0;
	for (i = 0; status == QB_OK && i < g->groups->count; i++)
		gathered->count += gathered->of_group[i];
	return status;
}

/* Have the device test the rows, and write the keys of the rows that pass. */
static qb_status
gather_rows(const GpuGather *g, const qs_cuda_copy_rows *rows, uint32 chunks, GpuGathered *gathered)
{
	const GpuWanted *wanted = g->wanted;

	if (g->groups)
		return split_rows(g, rows, chunks, gathered);
	if (wanted->projection == PROJECT_PAIRS)
		return GpuColumnOps()->pairs(rows, wanted->pair, &gathered->key, &gathered->pair,
									 &gathered->count);
	return GpuColumnOps()->select(rows, chunks, &gathered->key, &gathered->count);
}

/*
 * Begin to gather the keys of a chunk.  "tiles" is the number of tiles of earlier chunks in the
 * device's list.
 */
static qb_status
begin_gathering(const GpuGather *g, uint32 tiles, Gathering *gathering)
{
	const GpuWanted *wanted = g->wanted;
	bool pairs = wanted->projection == PROJECT_PAIRS;
	Lists *to;
	qb_status status;

	memset(gathering, 0, sizeof(*gathering));
	status = find_columns(&g->chunk, wanted, &gathering->columns);
	if (status != QB_OK || (g->groups && !qb_groups_are_valid(g->groups, &wanted->tests)) ||
		(pairs && wanted->pair >= wanted->tests.columns))
		return QB_NO_MEMORY;
	to = &lists[gathering->columns.column[0]->device];
	gathering->run = to->run;
	gathering->tile = to->tile + tiles;
	gathering->tested = g->copied || g->groups || pairs || wanted->projection == PROJECT_ROWS ||
						wanted->tests.tests > 0 || gathering->columns.column[0]->nulls > 0;
	return QB_OK;
}

/* Initialize the result for a chunk, without keys. */
static void
start_gathered(const GpuGather *g, const Gathering *gathering, GpuGathered *gathered)
{
	memset(gathered, 0, sizeof(*gathered));
	gathered->index = g->chunk.index;
	gathered->device = gathering->columns.column[0]->device;
	gathered->chunks = 1;
}

qb_status
GpuColumnGather(const GpuGather *g, GpuGathered *gathered)
{
	const GpuWanted *wanted = g->wanted;
	Gathering gathering;
	qb_status status = begin_gathering(g, 0, &gathering);
	qs_cuda_copy_rows rows;
	uint64 count;

	if (status != QB_OK)
		return status;
	start_gathered(g, &gathering, gathered);
	count = gather_pages(&gathering, &wanted->pages, g->from, g->most, &gathered->end);
	if (count == PG_UINT64_MAX)
		return QB_NO_MEMORY;
	if (count == 0 || (g->groups == NULL && none_pass(&gathering.columns, &wanted->tests)))
		return QB_OK;
	gathered->count = count;
	if (!gathering.tested)
		return GpuColumnOps()->gather(gathering.columns.column[0]->values, gathering.run,
									  gathering.count, &gathered->key);
	rows = rows_to_test(&gathering, &wanted->tests, wanted->projection == PROJECT_ROWS, count);
	return gather_rows(g, &rows, 1, gathered);
}

/*
 * Maximum number of rows in several chunks that are gathered together.  The keys of these rows take
 * at most 384 MB.
 */
#define TOGETHER_ROWS (UINT64CONST(3) << 24)

/* Chunks that are gathered together. */
typedef struct Chunks
{
	qs_cuda_copy_rows rows[QS_CUDA_CHUNKS_MAX];
	int count;
	uint32 tiles; /* number of tiles listed */
	uint64 most;  /* maximum number of rows in further chunks */
} Chunks;

/*
 * Add a chunk to the chunks that are gathered with "first".  False: nothing was added, because the
 * chunk does not fit, or cannot be gathered with "first".
 */
static bool
add_chunk(const GpuGather *g, const GpuGather *first, Chunks *chunks)
{
	const GpuWanted *wanted = g->wanted;
	qs_cuda_copy_rows *rows = &chunks->rows[chunks->count];
	Gathering gathering;
	uint32 end;
	uint64 count;

	if (wanted->projection != PROJECT_KEYS ||
		memcmp(&wanted->tests, &first->wanted->tests, sizeof(wanted->tests)) != 0 ||
		chunks->tiles + GpuPagesCount(&wanted->pages) > lengthof(lists[0].tile) ||
		begin_gathering(g, chunks->tiles, &gathering) != QB_OK || !gathering.tested)
		return false;
	count = gather_pages(&gathering, &wanted->pages, 0, chunks->most, &end);
	if (count == 0 || count > chunks->most || end < GPU_CHUNK_PAGES)
		return false;
	*rows = rows_to_test(&gathering, &first->wanted->tests, false, count);
	chunks->tiles += gathering.count;
	chunks->most -= count;
	chunks->count++;
	return true;
}

/*
 * Gather the keys of all wanted pages of several chunks of one device, by one call.  The groups and
 * "most" of gather[0] apply to all chunks.  *count becomes the number of gathered chunks, at least
 * 2, from gather[0] on.  QB_NO_MEMORY: no chunk was gathered, and the requests must be served one
 * by one.
 */
static qb_status
gather_all(const GpuGather *gather, int *count, GpuGathered *gathered)
{
	uint64 most = Min(gather->most, TOGETHER_ROWS);
	Chunks chunks = { .most = most };
	Gathering first;
	int all = Min(*count, QS_CUDA_CHUNKS_MAX);

	while (chunks.count < all && add_chunk(&gather[chunks.count], gather, &chunks))
		;
	if (chunks.count < 2 || begin_gathering(gather, 0, &first) != QB_OK)
		return QB_NO_MEMORY;
	*count = chunks.count;
	start_gathered(gather, &first, gathered);
	gathered->chunks = chunks.count;
	gathered->count = most - chunks.most;
	gathered->end = GPU_CHUNK_PAGES;
	return gather_rows(gather, chunks.rows, chunks.count, gathered);
}

qb_status
GpuColumnCountRows(const GpuGather *g, GpuGathered *gathered)
{
	Gathering gathering;
	qb_status status;

	if (g->wanted->tests.tests > 0)
		return GpuColumnGather(g, gathered);
	status = begin_gathering(g, 0, &gathering);
	if (status != QB_OK)
		return status;
	gathering.tested = false;
	start_gathered(g, &gathering, gathered);
	gathered->count = gather_pages(&gathering, &g->wanted->pages, 0, PG_UINT64_MAX, &gathered->end);
	return QB_OK;
}

/* ---- requests for keys of chunks ---- */

/*
 * What a request gathers in one piece of work.  "wanted" points into the slot, which belongs to the
 * worker until the reply.
 */
static GpuGather
gather_for(const GpuSlot *slot, const GpuAdding *adding)
{
	return (GpuGather){ .chunk = slot->other,
						.wanted = (const GpuWanted *) GpuSlotData(slot),
						.groups = adding->groups,
						.from = (uint32) slot->offset,
						.most = (uint64) (gpu_device_ops->piece_work / Max(adding->work, 1)) };
}

/*
 * Limit the work that is queued on a device.  "work" is the work for each gathered key.  After
 * each half piece of queued work, wait for the work that was queued before the previous wait.  So
 * the device still has work during the wait.  About one piece of work is queued, and always less
 * than three pieces.  Returns only QB_OK or QB_DEVICE_ERROR, because the keys are already added.
 */
static qb_status
limit_queued(const GpuGathered *gathered, double work)
{
	static double queued[GPU_DEVICES_MAX];
	double *here = &queued[gathered->device];

	*here += gathered->count * work;
	if (*here < gpu_device_ops->piece_work / 2)
		return QB_OK;
	*here = 0;
	return gpu_device_ops->pace(gpu_device[gathered->device]) == QB_OK ? QB_OK : QB_DEVICE_ERROR;
}

qb_status
GpuColumnServe(GpuSlot *const *slot, int *count, const GpuAdding *adding)
{
	GpuGather gather[GPU_TOGETHER];
	GpuGathered gathered;
	qb_status status;
	int i;

	for (i = 0; i < *count; i++)
	{
		gather[i] = gather_for(slot[i], adding);
		gather[i].copied = adding->together && *count > 1;
	}
	status = *count > 1 ? gather_all(gather, count, &gathered) : GpuColumnGather(gather, &gathered);
	if (status == QB_OK && gathered.count > 0)
		status = adding->add(slot[0], &gathered);
	if (status == QB_OK)
		status = limit_queued(&gathered, adding->work);
	if (status != QB_OK)
		return status;
	for (i = 0; i < *count; i++)
		slot[i]->offset = gathered.end;
	slot[0]->done += (int) gathered.count;
	slot[0]->more = gathered.end < GPU_CHUNK_PAGES;
	GpuCount(COUNT_COLUMN_KEYS, gathered.count);
	return QB_OK;
}
