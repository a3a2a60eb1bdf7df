/*
 * sketch_value.c
 *		Reading and writing qsketch values.
 *
 * Values inside the database came through an input function, which validated them.  So
 * reading a value checks only its header and length, in constant time.  That is enough
 * to keep every operation inside the value's bytes, and below the memory of the largest
 * sketch.
 *
 * src/pg/sketch_value.c
 */
#include "pg/sketch_value.h"

#include "pgbase/stored.h"

/*
 * Open a value of this length, whose header alone is read.  An explicit or compact sketch
 * may take few bytes although the header claims a large size; in a dense one the tables
 * must have that size.
 */
static void
open_bytes(qs_sketch *view, const uint8 *bytes, Size length)
{
	qb_status status = qs_open(view, bytes, length);

	if (status != QB_OK)
		FormatRaise(&sketch_format, status, ERRCODE_DATA_CORRUPTED, bytes, length);
	if (view->form != QS_DENSE)
		SketchCheckStorable(&view->params);
}

/* A view of a detoasted value. */
void
SketchOpen(qs_sketch *view, struct varlena *value)
{
	open_bytes(view, (const uint8 *) VARDATA(value), VARSIZE(value) - VARHDRSZ);
}

/*
 * Open a sketch stored out of line by reading its header alone.  False if the datum is
 * not stored so that parts of it can be read.
 */
bool
SketchOpenStored(qs_sketch *view, Datum datum)
{
	uint8 header[QS_HEADER_BYTES];
	Size length;

	if (!StoredReadHeader(&sketch_format, datum, header, &length))
		return false;
	open_bytes(view, header, length);
	return true;
}

/* Raise an error if the dense form would be larger than PostgreSQL can store. */
void
SketchCheckStorable(const qs_params *params)
{
	CheckSize(sketch_format.noun, VARHDRSZ + qs_dense_size(params, false),
			  "Choose a smaller size or z.");
}

/* The bytes of a varlena; too many are an error. */
static Size
check_size(const qs_flat *flat)
{
	return CheckSize(sketch_format.noun, VARHDRSZ + flat->bytes, NULL);
}

/* Choose how to write a sketch; marks NULL: it has none.  Returns the bytes of the varlena. */
Size
SketchFlatSize(const qs_sketch *sketch, const uint64 *marks, qs_flat *flat)
{
	*flat = qs_flat_marked(sketch, marks);
	return check_size(flat);
}

/* The same for a value that is merged once: its tables are written as they are. */
Size
SketchTablesSize(const qs_sketch *sketch, qs_flat *flat)
{
	*flat = qs_flat_tables(sketch);
	return check_size(flat);
}

/* Write a sketch as SketchFlatSize() or SketchTablesSize() has chosen. */
void
SketchWrite(const qs_sketch *sketch, const qs_flat *flat, struct varlena *out)
{
	SET_VARSIZE(out, VARHDRSZ + flat->bytes);
	qs_write_flat(sketch, flat, (uint8 *) VARDATA(out));
}

/* The sketch as a palloc'd value. */
struct varlena *
SketchFlatten(const qs_sketch *sketch)
{
	qs_flat flat;
	struct varlena *out = palloc(SketchFlatSize(sketch, NULL, &flat));

	SketchWrite(sketch, &flat, out);
	return out;
}
