/*
 * flat.c
 *		Text form, binary form and comparison of types whose values are the bytes of a format.
 *
 * The text of a value is the type's name and a colon, followed by the value's bytes as base64.
 * Binary output and bytea are the bytes themselves.  All input is validated.
 *
 * src/pg/flat.c
 */
#include "pg/flat.h"

#include "pgbase/version.h"

#include "common/base64.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

/*
 * The number of bytes that are encoded as base64, or decoded, between two checks for interrupts.
 * The number is a multiple of three, so that only the end of a value has padding.
 */
#define PIECE (3 * 1024 * 1024)

/*
 * BASE64_LENGTH: base64 characters for "bytes" bytes.  BASE64_BYTES: the maximum number of bytes
 * that "length" characters encode.
 */
#define BASE64_LENGTH(bytes) (((bytes) + 2) / 3 * 4)
#define BASE64_BYTES(length) ((length) / 4 * 3)

/* The largest buffer, in bytes, that an output function keeps from row to row. */
#define KEEP_MOST (4 * 1024 * 1024)

/* The maximum number of bytes of invalid input that an error message quotes. */
#define EXCERPT_BYTES 40

static void
bad_text(const FlatType *type, const char *text, const char *detail)
{
	int length = (int) strlen(text);
	int excerpt = pg_mbcliplen(text, length, EXCERPT_BYTES);
	char *hint = excerpt < length ? NULL : type->hint(text);

	ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					errmsg("invalid input syntax for type %s: \"%.*s%s\"", type->name, excerpt,
						   text, excerpt < length ? "..." : ""),
					errdetail("%s", detail), hint ? errhint("%s", hint) : 0));
}

/*
 * True if the base64 has padding before its end, which is invalid.  pg_b64_decode() would accept
 * such text.
 */
static bool
padded_within(const char *code, Size length)
{
	const char *padding = memchr(code, '=', length);
	Size left = padding ? length - (padding - code) : 0;

	return left > 2 || (left == 2 && padding[1] != '=');
}

/*
 * Return the value that base64 encodes; NULL: the base64 is not valid.  PostgreSQL 18 changed the
 * type of pg_b64_decode()'s output from char * to uint8 *; void * converts to both.
 */
static struct varlena *
from_base64(const char *code)
{
	Size length = strlen(code);
	struct varlena *value = palloc(VARHDRSZ + BASE64_BYTES(length));
	Size count = 0, done, piece;

	if (padded_within(code, length))
		return NULL;
	for (done = 0; done < length; done += piece)
	{
		int got;

		CHECK_FOR_INTERRUPTS();
		piece = Min(BASE64_LENGTH(PIECE), length - done);
		got = pg_b64_decode(code + done, (int) piece, (void *) (VARDATA(value) + count),
							(int) BASE64_BYTES(piece));
		if (got < 0)
			return NULL;
		count += got;
	}
	SET_VARSIZE(value, VARHDRSZ + count);
	return value;
}

/* Encode "count" bytes as BASE64_LENGTH(count) characters. */
static void
to_base64(const char *bytes, Size count, char *code)
{
	Size done, piece;

	for (done = 0; done < count; done += piece)
	{
		CHECK_FOR_INTERRUPTS();
		piece = Min(PIECE, count - done);
		code += pg_b64_encode((const void *) (bytes + done), (int) piece, code,
							  (int) BASE64_LENGTH(piece));
	}
}

/* Raise an error of this SQLSTATE unless a value from a user is valid. */
static void
validate(const FlatType *type, struct varlena *value, int sqlstate)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qb_memory memory;
	qb_status status = type->validate(bytes, length, ContextMemory(CurrentMemoryContext, &memory));

	if (status != QB_OK)
		FormatRaise(type->format, status, sqlstate, bytes, length);
	if (type->check)
		type->check(value, sqlstate);
}

Datum
FlatIn(const FlatType *type, FunctionCallInfo fcinfo)
{
	const char *text = PG_GETARG_CSTRING(0);
	Size skip = strlen(type->name);
	struct varlena *value;

	if (strncmp(text, type->name, skip) != 0 || text[skip] != ':')
		bad_text(type, text, psprintf("A %s starts with \"%s:\".", type->format->noun, type->name));
	value = from_base64(text + skip + 1);
	if (value == NULL)
		bad_text(type, text, psprintf("The text after \"%s:\" is not base64.", type->name));
	validate(type, value, ERRCODE_INVALID_TEXT_REPRESENTATION);
	PG_RETURN_POINTER(value);
}

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
 * Return a buffer of at least "size" bytes that lasts from row to row.  A new buffer for each row
 * would cost time, because the kernel clears new memory.
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

/* Return the value as flat bytes.  The bytes are valid until the next row. */
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

Datum
FlatOut(const FlatType *type, FunctionCallInfo fcinfo)
{
	struct varlena *value = flat_for_output(fcinfo);
	Size length = VARSIZE(value) - VARHDRSZ;
	Size skip = strlen(type->name) + 1;
	Size room = skip + BASE64_LENGTH(length) + 1;
	char *out;

	if (room > MaxAllocSize)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("text form of %s would need %lld bytes, more than the limit of %lld",
							   type->format->noun, (long long) room, (long long) MaxAllocSize),
						errhint("Use binary format.")));
	out = palloc(room);
	snprintf(out, room, "%s:", type->name);
	to_base64(VARDATA(value), length, out + skip);
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
	validate(type, value, ERRCODE_INVALID_BINARY_REPRESENTATION);
	PG_RETURN_POINTER(value);
}

Datum
FlatSend(FunctionCallInfo fcinfo)
{
	PG_RETURN_BYTEA_P(PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0)));
}

Datum
FlatToBytea(FunctionCallInfo fcinfo)
{
	PG_RETURN_POINTER(flat_argument(PG_GETARG_DATUM(0)));
}

Datum
FlatFromBytea(const FlatType *type, FunctionCallInfo fcinfo)
{
	struct varlena *value = flat_argument(PG_GETARG_DATUM(0));

	validate(type, value, ERRCODE_INVALID_BINARY_REPRESENTATION);
	PG_RETURN_POINTER(value);
}

/*
 * Compare two values by their bytes.  The order has no meaning, but DISTINCT and sorting need an
 * order.  Values with equal parameters, form and contents have equal bytes.
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
