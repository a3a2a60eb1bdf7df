/*
 * params.c
 *		Parameters of a sketch and the arithmetic of its sizes.
 *
 * src/sketch/params.c
 */
#include "sketch/params.h"

const qs_structure_facts qs_structures[QS_STRUCTURES] = {
	[QS_THREAD] = { .name = "thread", .unit = 4, .depth_max = QS_THREAD_DEPTH_MAX, .rows = true },
	[QS_WARP] = { .name = "warp", .width = 32, .unit = 128, .depth_max = 32 },
	[QS_HALF_WARP] = { .name = "half_warp", .width = 16, .unit = 64, .depth_max = 16 },
	[QS_SUB_WARP] = { .name = "sub_warp", .width = 8, .unit = 32, .depth_max = 8 },
	[QS_MULTILEVEL] = { .name = "multilevel",
						.width = 28,
						.unit = 32,
						.depth_max = 28,
						.high = 32 },
	[QS_SF] = { .name = "sf", .width = 8, .unit = 32, .depth_max = 8, .fat = true },
};

static bool
structure_exists(int structure)
{
	return structure >= QS_THREAD && structure < QS_STRUCTURES;
}

const char *
qs_structure_name(int structure)
{
	return structure_exists(structure) ? qs_structures[structure].name : NULL;
}

int
qs_structure_by_name(const char *name, size_t length)
{
	int i;

	for (i = QS_THREAD; i < QS_STRUCTURES; i++)
		if (strlen(qs_structures[i].name) == length &&
			memcmp(qs_structures[i].name, name, length) == 0)
			return i;
	return 0;
}

uint64_t
qs_block_bytes(const qs_params *p)
{
	uint64_t unit = qs_structures[p->structure].unit;

	return qs_has_rows(p->structure) ? unit * p->depth : unit;
}

uint64_t
qs_table_bytes(const qs_params *p, bool wide)
{
	uint64_t bytes = qs_has_table(p) ? p->n * qs_block_bytes(p) : 0;

	return wide && !qs_has_high(p->structure) ? 2 * bytes : bytes;
}

uint64_t
qs_extra_bytes(const qs_params *p, bool wide)
{
	uint64_t counters = qs_structures[p->structure].high;

	if (qs_has_extra(p))
		counters = p->n * qs_bucket_width(p->structure) * p->z;
	return counters * (wide ? 8 : 4);
}

uint64_t
qs_tables_bytes(const qs_params *p, bool wide, uint64_t high)
{
	uint64_t extra = qs_extra_bytes(p, wide);

	return qs_table_bytes(p, wide) + (qs_has_high(p->structure) ? high * extra : extra);
}

/*
 * The rows of a thread sketch need not fill the size exactly.  For thread, n is rounded down such
 * that n(2 * size) = 2 * n(size).  So a thread sketch can be folded to half its size, a quarter,
 * and so on.
 */
uint64_t
qs_params_n(int structure, uint32_t depth, uint64_t size)
{
	uint64_t unit = qs_structures[structure].unit;
	uint64_t grain = 1;

	if (qs_has_rows(structure))
	{
		unit *= depth;
		while (size / grain >= 2 * QS_SIZE_MIN)
			grain *= 2;
	}
	return size / grain / unit * grain;
}

static int
log2_exact(int64_t v)
{
	int k;

	for (k = 0; k < 63; k++)
		if (v == INT64_C(1) << k)
			return k;
	return -1;
}

qb_status
qs_params_make(qs_params *p, const qs_choice *choice)
{
	int structure = choice->structure;

	if (!structure_exists(structure))
		return QB_BAD_STRUCTURE;
	if (choice->size < QS_SIZE_MIN || choice->size > QS_SIZE_MAX)
		return QB_BAD_SIZE;
	if (choice->depth < 1 || choice->depth > qs_structures[structure].depth_max)
		return QB_BAD_DEPTH;
	if (choice->z < QS_Z_MIN || choice->z > QS_Z_MAX)
		return QB_BAD_Z;
	if (choice->masks > QS_MASKS_MAX || log2_exact(choice->masks) < 0)
		return QB_BAD_MASKS;

	memset(p, 0, sizeof(*p));
	p->seed = choice->seed;
	p->structure = (uint8_t) structure;
	p->depth = (uint8_t) choice->depth;
	p->n = qs_params_n(structure, p->depth, choice->size);
	if (qs_has_fat(structure))
		p->z = (uint8_t) choice->z;
	if (!qs_has_rows(structure))
		p->log2_masks = (uint8_t) log2_exact(choice->masks);
	return QB_OK;
}

qb_status
qs_params_check(const qs_params *p)
{
	const qs_structure_facts *facts =
		&qs_structures[structure_exists(p->structure) ? p->structure : 0];

	if (!facts->name || p->part > QS_PART_HOST)
		return QB_BAD_STRUCTURE;
	if (p->part != QS_PART_FULL && !facts->fat)
		return QB_BAD_STRUCTURE;
	if (p->depth < 1 || p->depth > facts->depth_max)
		return QB_BAD_DEPTH;
	if (facts->fat ? p->z < QS_Z_MIN || p->z > QS_Z_MAX : p->z != 0)
		return QB_BAD_Z;
	if (p->log2_masks > (facts->rows ? 0 : 16))
		return QB_BAD_MASKS;
	if (p->n < 1 || p->n > QS_SIZE_MAX / qs_block_bytes(p))
		return QB_BAD_SIZE;
	return QB_OK;
}

bool
qs_params_fold(const qs_params *from, const qs_params *to)
{
	if (from->structure != to->structure || from->part != to->part || from->depth != to->depth ||
		from->z != to->z || from->log2_masks != to->log2_masks || from->seed != to->seed)
		return false;
	return from->n % to->n == 0 && log2_exact((int64_t) (from->n / to->n)) >= 0;
}

bool
qs_params_mergeable(const qs_params *a, const qs_params *b)
{
	return a->n == b->n && qs_params_fold(a, b);
}

uint32_t
qs_explicit_limit(const qs_params *p)
{
	uint64_t limit = qs_block_bytes(p) * p->n / 32;

	if (limit < 1)
		return 1;
	return limit < QS_EXPLICIT_MAX ? (uint32_t) limit : QS_EXPLICIT_MAX;
}
