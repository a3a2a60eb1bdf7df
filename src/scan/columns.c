/*
 * columns.c
 *		The column's value in the visible tuples of a page.
 *
 * A column behind columns of fixed width lies at one offset in every tuple
 * that has no NULL up to it: integers are loaded and strings are hashed right
 * there.  Everything else goes through heap_getattr(), which knows of NULLs,
 * of variable width and of columns that were added after the tuple.
 *
 * src/scan/columns.c
 */
#include "scan/scan.h"

#include "access/tupmacs.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/rel.h"

/*
 * Offset of an attribute in tuples without NULLs, or -1.  What is in front of
 * a varlena may be padded or not, which only the value itself tells: its
 * offset is given without padding.
 */
static int
fixed_offset(TupleDesc descriptor, AttrNumber attribute)
{
	int offset = 0;
	int i;

	for (i = 0; i < attribute; i++)
	{
		Form_pg_attribute form = TupleDescAttr(descriptor, i);

		if (i == attribute - 1 && form->attlen == -1)
			return offset;
		offset = att_align_nominal(offset, form->attalign);
		if (i == attribute - 1)
			return offset;
		if (form->attlen < 0)
			return -1;
		offset += form->attlen;
	}
	return -1;
}

/* "attribute" is set; learn where it lies. */
void
SketchedColumnInit(SketchedColumn *column, TupleDesc descriptor)
{
	char align = TupleDescAttr(descriptor, column->attribute - 1)->attalign;

	column->offset = fixed_offset(descriptor, column->attribute);
	column->align = (uint8) att_align_nominal(1, align);
}

/* Room for so many keys in the sketch's buffer. */
static void
make_room(ExpandedSketch *sketch, int count)
{
	while (sketch->room - sketch->count < count)
		ExpandedMakeRoom(sketch);
}

static inline void
add_key(ExpandedSketch *sketch, uint64 fingerprint)
{
	sketch->fingerprint[sketch->count++] = fingerprint;
	sketch->members++;
}

/* The general way. */
static pg_noinline void
add_any(SketchedColumn *column, Relation relation, HeapTupleHeader header, uint16 length)
{
	HeapTupleData tuple;
	Datum value;
	bool null;

	tuple.t_data = header;
	tuple.t_len = length;
	tuple.t_tableOid = RelationGetRelid(relation);
	ItemPointerSetInvalid(&tuple.t_self);
	value = heap_getattr(&tuple, column->attribute, RelationGetDescr(relation), &null);
	if (null)
		return;
	CHECK_FOR_INTERRUPTS();
	add_key(column->sketch, KeyFingerprint(&column->sketch->key, value));
}

/* Does a bitmap of NULLs say that none of the first attributes is NULL? */
static bool
none_null(const bits8 *bitmap, int attributes)
{
	int i;

	for (i = 0; i < attributes; i++)
		if (att_isnull(i, bitmap))
			return false;
	return true;
}

/* Is the column at its fixed offset in this tuple? */
static inline bool
at_offset(const SketchedColumn *column, HeapTupleHeader tuple)
{
	return HeapTupleHeaderGetNatts(tuple) >= column->attribute &&
		   (!(tuple->t_infomask & HEAP_HASNULL) || none_null(tuple->t_bits, column->attribute));
}

/* Integers at a fixed offset; "kind" is a constant at each call. */
static pg_attribute_always_inline void
add_integers(SketchedColumn *column, Relation relation, const PageTuples *tuples, KeyKind kind)
{
	ExpandedSketch *sketch = column->sketch;
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		HeapTupleHeader tuple = tuples->tuple[i];
		const char *value = (const char *) tuple + tuple->t_hoff + column->offset;

		if (unlikely(!at_offset(column, tuple)))
			add_any(column, relation, tuple, tuples->length[i]);
		else if (kind == KEY_INT8)
			add_key(sketch, (uint64) * (const int64 *) value);
		else if (kind == KEY_INT4)
			add_key(sketch, (uint64) (int64) * (const int32 *) value);
		else
			add_key(sketch, (uint64) (int64) * (const int16 *) value);
	}
}

/* Strings at a fixed offset, neither compressed nor out of line. */
static void
add_strings(SketchedColumn *column, Relation relation, const PageTuples *tuples)
{
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		HeapTupleHeader tuple = tuples->tuple[i];
		const char *value = (const char *) tuple + tuple->t_hoff + column->offset;

		if (unlikely(!at_offset(column, tuple)))
		{
			add_any(column, relation, tuple, tuples->length[i]);
			continue;
		}
		if (!VARATT_NOT_PAD_BYTE(value))
			value = (const char *) TYPEALIGN(column->align, value);
		if (unlikely(VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value)))
			add_any(column, relation, tuple, tuples->length[i]);
		else
			add_key(column->sketch, hash_bytes_extended((const unsigned char *) VARDATA_ANY(value),
														(int) VARSIZE_ANY_EXHDR(value), 0));
	}
}

/* Add the column of all tuples to its sketch. */
void
SketchedColumnAdd(SketchedColumn *column, Relation relation, const PageTuples *tuples)
{
	KeyKind kind = column->offset >= 0 ? column->sketch->key.kind : KEY_HASHED;
	int i;

	make_room(column->sketch, tuples->count);
	switch (kind)
	{
		case KEY_INT8:
			add_integers(column, relation, tuples, KEY_INT8);
			break;
		case KEY_INT4:
			add_integers(column, relation, tuples, KEY_INT4);
			break;
		case KEY_INT2:
			add_integers(column, relation, tuples, KEY_INT2);
			break;
		case KEY_BYTES:
			add_strings(column, relation, tuples);
			break;
		default:
			for (i = 0; i < tuples->count; i++)
				add_any(column, relation, tuples->tuple[i], tuples->length[i]);
	}
}
