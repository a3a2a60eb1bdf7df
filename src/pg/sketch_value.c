/*
 * sketch_value.c
 *		Reading and writing qsketch values, errors about sketches, input and output, qsketch_new.
 *
 * Values inside the database were validated by an input function, or made by the extension.  So
 * reading a value checks only its header and length, in constant time.  After these checks, no
 * operation accesses bytes outside of the value, or takes more memory than the largest sketch.
 *
 * src/pg/sketch_value.c
 */
#include "pg/sketch_state.h"

#include "lib/stringinfo.h"
#include "pg/flat.h"
#include "pgbase/keycheck.h"
#include "pgbase/value.h"
#include "pgbase/stored.h"
#include "utils/builtins.h"

/*
 * Open a value of "length" bytes by reading only its header.  An explicit or compact sketch may
 * claim a large size in few bytes, so this size is checked.  A dense sketch contains its tables,
 * and qs_open() compares their size with "length".
 */
static void
open_bytes(qs_sketch *view, const uint8 *bytes, Size length, int sqlstate)
{
	qb_status status = qs_open(view, bytes, length);

	if (status != QB_OK)
		FormatRaise(&sketch_format, status, sqlstate, bytes, length);
	KeysCheck(&view->keys, &sketch_format, sqlstate);
	if (view->encoding != QS_DENSE)
		SketchCheckStorable(&view->params);
}

/* Open a detoasted value as a view. */
void
SketchOpen(qs_sketch *view, struct varlena *value)
{
	open_bytes(view, (const uint8 *) VARDATA(value), VARSIZE(value) - VARHDRSZ,
			   ERRCODE_DATA_CORRUPTED);
}

/*
 * Open a sketch stored out of line by reading only its header.  False: the datum is not stored out
 * of line, or its storage does not allow partial reads.
 */
bool
SketchOpenStored(qs_sketch *view, Datum datum)
{
	uint8 header[QS_HEADER_BYTES];
	Size length;

	if (!StoredReadHeader(&sketch_format, datum, header, &length))
		return false;
	open_bytes(view, header, length, ERRCODE_DATA_CORRUPTED);
	return true;
}

/*
 * Raise an error if PostgreSQL could not store the dense encoding, even with narrow counters and
 * without high buckets.
 */
void
SketchCheckStorable(const qs_params *params)
{
	CheckSize(sketch_format.noun, VARHDRSZ + qs_dense_size(params, false),
			  "Choose a smaller size or z.");
}

/* Return the bytes of the varlena.  Raise an error if PostgreSQL cannot store so many bytes. */
static Size
check_size(const qs_flat *flat)
{
	return CheckSize(sketch_format.noun, VARHDRSZ + flat->bytes, NULL);
}

/*
 * Choose the encoding of a sketch, and return the bytes of its varlena.  "presence" is the sketch's
 * presence bitmap, or NULL.
 */
Size
SketchFlatSize(const qs_sketch *sketch, const uint64 *presence, qs_flat *flat)
{
	*flat = qs_flat_present(sketch, presence);
	return check_size(flat);
}

/*
 * Choose the encoding of a sketch for a value that is merged only once: the tables of a dense
 * sketch are written as they are.  Return the bytes of the value's varlena.
 */
Size
SketchTablesSize(const qs_sketch *sketch, qs_flat *flat)
{
	*flat = qs_flat_tables(sketch);
	return check_size(flat);
}

/* Write a sketch in the encoding that SketchFlatSize() or SketchTablesSize() chose. */
void
SketchWrite(const qs_sketch *sketch, const qs_flat *flat, struct varlena *out)
{
	SET_VARSIZE(out, VARHDRSZ + flat->bytes);
	qs_write_flat(sketch, flat, (uint8 *) VARDATA(out));
}

/* Return the sketch as a palloc'd value. */
struct varlena *
SketchFlatten(const qs_sketch *sketch)
{
	qs_flat flat;
	struct varlena *out = palloc(SketchFlatSize(sketch, NULL, &flat));

	SketchWrite(sketch, &flat, out);
	return out;
}

/* ---- reading in any form ---- */

/*
 * Open a sketch for reading until SketchReadEnd(), or until the datum is freed.  An expanded sketch
 * is materialized and read in place.  A compact sketch gets no tables.
 */
void
SketchReadAsStored(SketchReader *reader, Datum datum)
{
	SketchState *expanded = SketchStateIn(datum);
	struct varlena *value;

	reader->detoasted = NULL;
	reader->tables.memory = NULL;
	if (expanded)
	{
		SketchMaterialize(expanded);
		reader->header = NULL;
		reader->version = expanded->version;
		reader->sketch = &expanded->sketch;
		return;
	}
	value = ValueDetoast(datum, &reader->detoasted);
	SketchOpen(&reader->view, value);
	reader->sketch = &reader->view;
	reader->header = (const uint8 *) VARDATA(value);
}

/* Like SketchReadAsStored(), except that a compact sketch gets tables. */
void
SketchRead(SketchReader *reader, Datum datum)
{
	SketchReadAsStored(reader, datum);
	if (reader->sketch->encoding != QS_COMPACT)
		return;
	SketchCheck(qs_copy(&reader->tables, reader->sketch,
						ContextMemory(CurrentMemoryContext, &reader->memory)));
	reader->sketch = &reader->tables;
}

/* Free what SketchRead() or SketchReadAsStored() allocated. */
void
SketchReadEnd(SketchReader *reader)
{
	if (reader->tables.memory)
		qs_free(&reader->tables);
	reader->tables.memory = NULL;
	if (reader->detoasted)
		pfree(reader->detoasted);
	reader->detoasted = NULL;
}

/* ---- errors ---- */

const ValueFormat sketch_format = { "sketch", QS_FORMAT_VERSION_1, QS_HEADER_BYTES };
const KeyHolder sketch_key_holder = { "sketch", "sketches", "qsketch_estimate_key" };

static const char *
hint_of(qb_status status)
{
	switch (status)
	{
		case QB_TOTAL_OVERFLOW:
			return "The sum of all weights of a sketch is at most 9223372036854775807.";
		case QB_UNDERFLOW:
			return "Remove or subtract only what was added before, with the same weight.";
		case QB_READ_ONLY:
			return "Add to and subtract from the full sketch or its host part.";
		default:
			return NULL;
	}
}

/* Raise the error of a status unless it is QB_OK. */
void
SketchCheck(qb_status status)
{
	if (unlikely(status != QB_OK))
		StatusRaise(status, sketch_key_holder.one, hint_of(status));
}

/* Raise an error if the removals of an aggregate's state could not be subtracted. */
void
SketchCheckRemoved(qb_status status)
{
	if (status == QB_UNDERFLOW)
		ereport(
			ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION), errmsg("weights of a key sum to less than zero"),
			 errhint("A negative weight takes back what other rows of the group add; on several "
					 "machines, what other rows of the same shard add. To take back rows of other "
					 "groups, count refunds and the like apart, with positive weights, and "
					 "subtract.")));
	SketchCheck(status);
}

/* Raise the error for a weight whose negative is no bigint. */
void
SketchBadWeight(int64 weight)
{
	ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					errmsg("weight " INT64_FORMAT " is out of range", weight)));
}

static const char *
structure_of(const qs_params *p)
{
	static const char *const part[] = { "", " device part", " host part" };

	return psprintf("%s%s", qs_structure_name(p->structure), part[p->part]);
}

/* Return the size of a sketch as a text for qsketch_new(). */
const char *
SketchSizeText(const qs_params *p)
{
	return TextOfSize(qs_block_bytes(p) * p->n);
}

/* List the parameters in which two sketches differ, with the values of both sketches. */
static char *
differences(const qs_params *a, const qs_params *b)
{
	bool same_structure = a->structure == b->structure && a->part == b->part;
	StringInfoData text;

	initStringInfo(&text);
	AppendDifference(&text, "structure", structure_of(a), structure_of(b));
	AppendDifference(&text, "size", SketchSizeText(a), SketchSizeText(b));
	AppendDifference(&text, "depth", psprintf("%d", a->depth), psprintf("%d", b->depth));
	if (same_structure)
	{
		AppendDifference(&text, "masks", psprintf("%u", qs_mask_count(a)),
						 psprintf("%u", qs_mask_count(b)));
		AppendDifference(&text, "z", psprintf("%d", a->z), psprintf("%d", b->z));
	}
	AppendDifference(&text, "seed", psprintf(INT64_FORMAT, (int64) a->seed),
					 psprintf(INT64_FORMAT, (int64) b->seed));
	return text.data;
}

/*
 * A hint for sketches of different structures.  Often, one of the sketches was stored while another
 * structure was the default.  The hint says how to make new sketches of the stored sketch's
 * structure.
 */
static int
hint_template(const qs_params *a, const qs_params *b)
{
	const qs_params *old = a->structure == SKETCH_DEFAULT_STRUCTURE ? b : a;

	return errhint("To go on with stored sketches of another structure than the default, %s, give "
				   "qsketch_agg a template: qsketch_new('%s', '%s').",
				   qs_structure_name(SKETCH_DEFAULT_STRUCTURE), qs_structure_name(old->structure),
				   SketchSizeText(old));
}

/* A hint for sketches that differ only in size, or in parameters that no function can change. */
static int
hint_size(const qs_params *a, const qs_params *b)
{
	if (qs_params_fold(a, b) || qs_params_fold(b, a))
		return errhint("Fold the larger one: qsketch_fold(sketch, '%s').",
					   SketchSizeText(a->n < b->n ? a : b));
	return errhint("Make all sketches with one template: structure, size, depth, masks, z and seed "
				   "must be equal.");
}

/* Raise the error of sketches with different parameters. */
static void
raise_differences(const qs_params *a, const qs_params *b)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION), errmsg("sketches differ: %s", differences(a, b)),
			 a->structure != b->structure ? hint_template(a, b) : hint_size(a, b)));
}

/*
 * Raise an error unless two rows or states have the same template.  The order of the templates in
 * the message does not depend on the plan.
 */
void
SketchCheckParams(const qs_params *a, const qs_params *b)
{
	int order = memcmp(a, b, sizeof(*a));

	if (order != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("template differs between rows of one group: %s",
							   order < 0 ? differences(a, b) : differences(b, a)),
						errhint("Group by the template, or use one for all rows.")));
}

/* Raise an error if two sketches differ in parameters or in the kind of their keys. */
void
SketchCheckMergeable(const qs_sketch *a, const qs_sketch *b)
{
	if (!qs_params_mergeable(&a->params, &b->params))
		raise_differences(&a->params, &b->params);
	KeyFamilyCheckSame(&a->keys, &b->keys, &sketch_key_holder);
}

/*
 * Raise an error if two sketches differ in the kind of their keys, or in parameters that folding
 * cannot make equal.
 */
void
SketchCheckProduct(const qs_sketch *a, const qs_sketch *b)
{
	if (!qs_params_fold(&a->params, &b->params) && !qs_params_fold(&b->params, &a->params))
		raise_differences(&a->params, &b->params);
	KeyFamilyCheckSame(&a->keys, &b->keys, &sketch_key_holder);
}

/* ---- new sketches, their structures and sizes ---- */

#define DEFAULT_SIZE  (UINT64CONST(1) << 20)
#define DEFAULT_DEPTH 3
#define DEFAULT_Z     8
#define DEFAULT_MASKS 1024

/* Set the parameters that qsketch_new() chooses for a structure and a size. */
void
SketchParamsOf(qs_params *params, int structure, uint64 size)
{
	SketchCheck(qs_params_make(params, &(qs_choice){ .structure = structure,
													 .size = size,
													 .depth = DEFAULT_DEPTH,
													 .z = DEFAULT_Z,
													 .masks = DEFAULT_MASKS }));
}

/* Set the parameters of qsketch_new() without arguments. */
void
SketchDefaultParams(qs_params *params)
{
	SketchParamsOf(params, SKETCH_DEFAULT_STRUCTURE, DEFAULT_SIZE);
}

/* Return the bytes of a size such as '64kB', in the syntax of pg_size_bytes(). */
static uint64
size_from_text(text *size)
{
	int64 bytes = DatumGetInt64(DirectFunctionCall1(pg_size_bytes, PointerGetDatum(size)));

	if (bytes < (int64) QS_SIZE_MIN || bytes > (int64) QS_SIZE_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("size must be between 1kB and 512MB, not \"%s\"", text_to_cstring(size))));
	return bytes;
}

/*
 * Return the parameter n of a sketch folded to this size.  Raise an error if the sketch cannot be
 * folded to this size.
 */
uint64
SketchFoldedN(const qs_params *params, text *size)
{
	qs_params folded = *params;

	folded.n = qs_params_n(params->structure, params->depth, size_from_text(size));
	if (folded.n < 1 || !qs_params_fold(params, &folded))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("cannot fold sketch of size %s to \"%s\"", SketchSizeText(params),
							   text_to_cstring(size)),
						errhint("The size must be that of the sketch divided by a power of two.")));
	return folded.n;
}

/* The names of all structures: "thread, warp, ... and sf" */
static char *
structure_names(void)
{
	StringInfoData names;
	int i;

	initStringInfo(&names);
	for (i = 1; i < QS_STRUCTURES; i++)
		appendStringInfo(&names, "%s%s",
						 i == 1                   ? ""
						 : i == QS_STRUCTURES - 1 ? " and "
												  : ", ",
						 qs_structure_name(i));
	return names.data;
}

int
SketchStructureFromText(text *name)
{
	int structure = qs_structure_by_name(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));

	if (structure == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("unrecognized structure: \"%s\"", text_to_cstring(name)),
						errhint("Structures are %s; a size alone is given by name, as in "
								"qsketch_new(size => '64kB').",
								structure_names())));
	return structure;
}

static void
check_masks(int32 masks)
{
	CheckInteger("number of masks", masks, 1, QS_MASKS_MAX, NULL);
	if ((masks & (masks - 1)) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("number of masks must be a power of two, not %d", masks)));
}

/* qsketch_new(structure, size, depth, z, masks, seed): an empty sketch. */
PG_FUNCTION_INFO_V1(qsketch_new);
Datum
qsketch_new(PG_FUNCTION_ARGS)
{
	int structure = SketchStructureFromText(PG_GETARG_TEXT_PP(0));
	uint64 size = size_from_text(PG_GETARG_TEXT_PP(1));
	int32 depth = PG_GETARG_INT32(2);
	int32 z = PG_GETARG_INT32(3);
	int32 masks = PG_GETARG_INT32(4);
	uint64 seed = (uint64) PG_GETARG_INT64(5);
	qs_params params;
	qs_sketch sketch;

	CheckInteger("depth", depth, 1, qs_depth_max(structure), NULL);
	CheckInteger("z", z, QS_Z_MIN, QS_Z_MAX, NULL);
	check_masks(masks);
	SketchCheck(qs_params_make(&params, &(qs_choice){ .structure = structure,
													  .size = size,
													  .depth = depth,
													  .z = z,
													  .masks = masks,
													  .seed = seed }));
	SketchCheckStorable(&params);
	qs_init(&sketch, &params, NULL);
	PG_RETURN_POINTER(SketchFlatten(&sketch));
}

/* ---- input, output and comparison ---- */

/*
 * Check a valid value from a user.  Raise an error if its tables would be too large to store: an
 * empty sketch of 64 bytes must not take tens of gigabytes when keys are added.  Also raise an
 * error if the facts about the sketch's keys are inconsistent.
 */
static void
check(struct varlena *value, int sqlstate)
{
	qs_sketch view;

	open_bytes(&view, (const uint8 *) VARDATA(value), VARSIZE(value) - VARHDRSZ, sqlstate);
}

/* True if the text is a size, such as 1MB. */
static bool
is_size(const char *text)
{
	static const char *const units[] = { "", "B", "bytes", "kB", "MB", "GB", "TB", "PB" };
	size_t digits = strspn(text, "0123456789.");
	const char *unit = text + digits + strspn(text + digits, " ");
	int i;

	for (i = 0; digits > 0 && i < lengthof(units); i++)
		if (pg_strcasecmp(unit, units[i]) == 0)
			return true;
	return false;
}

/*
 * Return a hint for a text that is no sketch, or NULL.  A user who writes a size or the name of a
 * structure probably means a template.
 */
static char *
hint(const char *text)
{
	if (is_size(text))
		return psprintf("A template of this size is qsketch_new(size => '%s').", text);
	if (qs_structure_by_name(text, strlen(text)) != 0)
		return psprintf("A template of this structure is qsketch_new('%s').", text);
	return NULL;
}

static const FlatType qsketch = {
	.name = "qsketch",
	.format = &sketch_format,
	.validate = qs_validate_pausing,
	.check = check,
	.hint = hint,
};

FLAT_FUNCTIONS(qsketch);
