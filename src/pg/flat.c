/*
 * flat.c
 *		Types whose values are the bytes of a format: text, binary, comparison.
 *
 * Text is the type's prefix and the base64 of the bytes; binary and bytea are
 * the bytes themselves.  All that comes in is validated.
 *
 * src/pg/flat.c
 */
#include "pg/flat.h"

#include "engine/base64.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* Most bytes of bad input that an error message shows. */
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

Datum
FlatIn(const FlatType *type, FunctionCallInfo fcinfo)
{
	const char *text = PG_GETARG_CSTRING(0);
	Size skip = strlen(type->prefix);
	const char *code = text + skip;
	struct varlena *value;
	size_t code_length;
	size_t length;

	if (strncmp(text, type->prefix, skip) != 0)
		bad_text(type, text, psprintf("A %s starts with \"%s\".", type->noun, type->prefix));
	code_length = strlen(code);
	value = palloc(VARHDRSZ + qs_base64_bytes(code_length));
	if (!qs_base64_decode(code, code_length, (uint8 *) VARDATA(value), &length))
		bad_text(type, text, psprintf("What follows \"%s\" is not base64.", type->prefix));
	SET_VARSIZE(value, VARHDRSZ + length);
	type->validate(value, ERRCODE_INVALID_TEXT_REPRESENTATION);
	PG_RETURN_POINTER(value);
}

/* The value as flat bytes. */
static struct varlena *
flat_argument(Datum datum)
{
	return PG_DETOAST_DATUM(datum);
}

Datum
FlatOut(const FlatType *type, FunctionCallInfo fcinfo)
{
	struct varlena *value = flat_argument(PG_GETARG_DATUM(0));
	Size bytes = VARSIZE(value) - VARHDRSZ;
	Size skip = strlen(type->prefix);
	Size room = skip + qs_base64_length(bytes) + 1;
	char *out;

	if (room > MaxAllocSize)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("text form of %s would need %lld bytes, more than the limit of %lld",
							   type->noun, (long long) room, (long long) MaxAllocSize),
						errhint("Use binary format.")));
	out = palloc(room);
	memcpy(out, type->prefix, skip);
	qs_base64_encode((const uint8 *) VARDATA(value), bytes, out + skip);
	out[room - 1] = '\0';
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

/* Cast to bytea: the bytes are the same. */
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
 * Order of two values: that of their bytes, which means nothing but is what
 * DISTINCT and sorting need.  Same parameters and same counts are same bytes.
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

/* For hash joins and DISTINCT. */
Datum
FlatHash(FunctionCallInfo fcinfo)
{
	struct varlena *value = flat_argument(PG_GETARG_DATUM(0));
	uint32 hash = hash_bytes((const unsigned char *) VARDATA(value), VARSIZE(value) - VARHDRSZ);

	PG_FREE_IF_COPY(value, 0);
	PG_RETURN_UINT32(hash);
}
