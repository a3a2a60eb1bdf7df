/*
 * flat.c
 *		Types whose values are the bytes of a format: text, binary, comparison.
 *
 * The text of a value is the type's prefix, followed by its bytes as base64.  If that
 * is shorter, a tilde and the packed bytes as base64 follow the prefix instead
 * (base/pack.h): tables with few keys are mostly zeros.  Input reads both forms.
 * Binary output and bytea are the bytes themselves.  All input is validated.
 *
 * src/pg/flat.c
 */
#include "pg/flat.h"

#include "base/base64.h"
#include "base/pack.h"
#include "pgbase/version.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

/* Marks packed bytes.  It is no digit of base64. */
#define PACKED '~'

/* The smallest value that is packed, and the most that the packed bytes may take. */
#define PACK_AT         1024
#define PACK_ROOM(size) ((size) / 4 * 3)

/* Output functions keep a buffer of up to this size from row to row, to flatten values into. */
#define KEEP_MOST (4 * 1024 * 1024)

/* The most bytes of bad input that an error message shows. */
#define SHOWN 40

static void
bad_text(const FlatType *type, const char *text, const char *detail)
{
	int length = (int) strlen(text);
	int shown = pg_mbcliplen(text, length, SHOWN);
	char *hint = shown < length ? NULL : type->hint(text);

	ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					errmsg("invalid input syntax for type %s: \"%.*s%s\"", type->name, shown, text,
						   shown < length ? "..." : ""),
					errdetail("%s", detail), hint ? errhint("%s", hint) : 0));
}

/* Decode base64, with "front" free bytes before the result; NULL: it is not base64. */
static uint8 *
decoded(const char *code, Size front, size_t *length)
{
	Size code_length = strlen(code);
	uint8 *bytes = palloc(front + qb_base64_bytes(code_length));

	return qb_base64_decode(code, code_length, bytes + front, length) ? bytes : NULL;
}

/* A value from its bytes as base64, or NULL. */
static struct varlena *
from_plain(const char *code)
{
	size_t length;
	struct varlena *value = (struct varlena *) decoded(code, VARHDRSZ, &length);

	if (value)
		SET_VARSIZE(value, VARHDRSZ + length);
	return value;
}

/* A value from its packed bytes as base64, or NULL. */
static struct varlena *
from_packed(const char *code)
{
	size_t length;
	uint8 *packed = decoded(code, 0, &length);
	struct varlena *value;
	uint32 count;

	if (packed == NULL || !qb_unpacked_count(packed, length, &count) ||
		count > MaxAllocSize - VARHDRSZ - QB_PACK_SLACK)
		return NULL;
	value = palloc(VARHDRSZ + count + QB_PACK_SLACK);
	SET_VARSIZE(value, VARHDRSZ + count);
	if (!qb_unpack(packed, length, (uint8 *) VARDATA(value), count))
		return NULL;
	pfree(packed);
	return value;
}

Datum
FlatIn(const FlatType *type, FunctionCallInfo fcinfo)
{
	const char *text = PG_GETARG_CSTRING(0);
	Size skip = strlen(type->prefix);
	const char *code = text + skip;
	struct varlena *value;

	if (strncmp(text, type->prefix, skip) != 0)
		bad_text(type, text, psprintf("A %s starts with \"%s\".", type->noun, type->prefix));
	value = *code == PACKED ? from_packed(code + 1) : from_plain(code);
	if (value == NULL)
		bad_text(type, text,
				 *code == PACKED
					 ? psprintf("The text after \"%s%c\" is not packed bytes in base64.",
								type->prefix, PACKED)
					 : psprintf("The text after \"%s\" is not base64.", type->prefix));
	type->validate(value, ERRCODE_INVALID_TEXT_REPRESENTATION);
	PG_RETURN_POINTER(value);
}

/* The value as flat bytes. */
static struct varlena *
flat_argument(Datum datum)
{
	return PG_DETOAST_DATUM(datum);
}

typedef struct KeptValue
{
	Size room;
	struct varlena *value;
} KeptValue;

/*
 * A buffer that lasts from row to row.  The system clears new memory, which takes long
 * if it is large.
 */
static struct varlena *
kept_room(FmgrInfo *function, Size size)
{
	KeptValue *kept = function->fn_extra;

	if (kept == NULL)
		kept = function->fn_extra = MemoryContextAllocZero(function->fn_mcxt, sizeof(KeptValue));
	if (kept->room < size)
	{
		if (kept->value)
			pfree(kept->value);
		memset(kept, 0, sizeof(*kept));
		kept->value = MemoryContextAlloc(function->fn_mcxt, size);
		kept->room = size;
	}
	return kept->value;
}

/* The value as flat bytes.  If it was expanded, they last until the next row. */
static struct varlena *
flat_for_output(FunctionCallInfo fcinfo)
{
	Datum datum = PG_GETARG_DATUM(0);
	ExpandedObjectHeader *header;
	struct varlena *value;
	Size size;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)) || fcinfo->flinfo == NULL)
		return flat_argument(datum);
	header = DatumGetEOHP(datum);
	size = EOH_get_flat_size(header);
	if (size > KEEP_MOST)
		return flat_argument(datum);
	value = kept_room(fcinfo->flinfo, size);
	EOH_flatten_into(header, value, size);
	return value;
}

/*
 * The packed bytes of a value, whose size is in *length; their number goes there.  NULL
 * if packing does not pay; then *length stays.
 */
static uint8 *
packed_bytes(const struct varlena *value, Size *length)
{
	Size size = *length;
	uint8 *packed;

	if (size < PACK_AT)
		return NULL;
	packed = palloc(PACK_ROOM(size) + QB_PACK_SLACK);
	*length = qb_pack((const uint8 *) VARDATA(value), (uint32) size, packed, PACK_ROOM(size));
	if (*length > 0)
		return packed;
	pfree(packed);
	*length = size;
	return NULL;
}

Datum
FlatOut(const FlatType *type, FunctionCallInfo fcinfo)
{
	struct varlena *value = flat_for_output(fcinfo);
	Size length = VARSIZE(value) - VARHDRSZ;
	uint8 *packed = packed_bytes(value, &length);
	Size skip = strlen(type->prefix) + (packed ? 1 : 0);
	Size room = skip + qb_base64_length(length) + 1;
	char *out;

	if (room > MaxAllocSize)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("text form of %s would need %lld bytes, more than the limit of %lld",
							   type->noun, (long long) room, (long long) MaxAllocSize),
						errhint("Use binary format.")));
	out = palloc(room);
	memcpy(out, type->prefix, strlen(type->prefix));
	if (packed)
		out[skip - 1] = PACKED;
	qb_base64_encode(packed ? packed : (const uint8 *) VARDATA(value), length, out + skip);
	out[room - 1] = '\0';
	if (packed)
		pfree(packed);
	PG_RETURN_CSTRING(out);
}

Datum
FlatReceive(const FlatType *type, FunctionCallInfo fcinfo)
{
	StringInfo message = (StringInfo) PG_GETARG_POINTER(0);
	int length = message->len - message->cursor;
	struct varlena *value = palloc(VARHDRSZ + length);

	SET_VARSIZE(value, VARHDRSZ + length);
	pq_copymsgbytes(message, VARDATA(value), length);
	type->validate(value, ERRCODE_INVALID_BINARY_REPRESENTATION);
	PG_RETURN_POINTER(value);
}

Datum
FlatSend(FunctionCallInfo fcinfo)
{
	PG_RETURN_BYTEA_P(PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0)));
}

/* Cast to bytea.  The bytes stay the same. */
Datum
FlatToBytea(FunctionCallInfo fcinfo)
{
	PG_RETURN_POINTER(flat_argument(PG_GETARG_DATUM(0)));
}

Datum
FlatFromBytea(const FlatType *type, FunctionCallInfo fcinfo)
{
	struct varlena *value = flat_argument(PG_GETARG_DATUM(0));

	type->validate(value, ERRCODE_INVALID_BINARY_REPRESENTATION);
	PG_RETURN_POINTER(value);
}

/*
 * Compare two values by their bytes.  The order means nothing, but DISTINCT and sorting
 * need one.  Values with the same parameters and counts have the same bytes.
 */
int
FlatCompare(FunctionCallInfo fcinfo)
{
	struct varlena *a = flat_argument(PG_GETARG_DATUM(0));
	struct varlena *b = flat_argument(PG_GETARG_DATUM(1));
	int result = memcmp(VARDATA(a), VARDATA(b), Min(VARSIZE(a), VARSIZE(b)) - VARHDRSZ);

	if (result == 0)
		result = (VARSIZE(a) > VARSIZE(b)) - (VARSIZE(a) < VARSIZE(b));
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return result;
}

/* The hash of a value, for hash joins and DISTINCT. */
Datum
FlatHash(FunctionCallInfo fcinfo)
{
	struct varlena *value = flat_argument(PG_GETARG_DATUM(0));
	uint32 hash = hash_bytes((const unsigned char *) VARDATA(value), VARSIZE(value) - VARHDRSZ);

	PG_FREE_IF_COPY(value, 0);
	PG_RETURN_UINT32(hash);
}
