/*
 * sketch_io.c
 *		Input, output and comparison of qsketch values.
 *
 * Text is "qsketch:" and the base64 of the byte format; binary and bytea are
 * the bytes themselves.  All that comes in goes through qs_validate().
 *
 * src/pg/sketch_io.c
 */
#include "pg/sketch_expanded.h"

#include "common/base64.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

static const char prefix[] = "qsketch:";
#define PREFIX_LENGTH (sizeof(prefix) - 1)

/* Most bytes of bad input that an error message shows. */
#define SHOWN 40

/*
 * Raise an error unless a value made from outside is a valid sketch, and one
 * that qsketch_new() could have made: an empty sketch of 64 bytes must not
 * claim tens of gigabytes with its first keys.
 */
static void
validate(struct varlena *value, int sqlstate)
{
	const uint8 *bytes = (const uint8 *) VARDATA(value);
	Size length = VARSIZE(value) - VARHDRSZ;
	qs_status status = qs_validate(bytes, length);
	qs_sketch view;

	if (status != QS_OK)
		SketchBadFormat(status, sqlstate, bytes, length);
	SketchOpen(&view, value);
	SketchCheckStorable(&view.params);
}

static void
bad_text(const char *text, const char *detail)
{
	int length = (int) strlen(text);
	int shown = pg_mbcliplen(text, length, SHOWN);

	ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					errmsg("invalid input syntax for type %s: \"%.*s%s\"", "qsketch", shown, text,
						   shown < length ? "..." : ""),
					errdetail("%s", detail)));
}

/*
 * Length of base64 text, and of the bytes that it stands for at most.  The
 * functions of PostgreSQL overflow for the largest sketches.
 */
static int64
encoded_length(Size bytes)
{
	return (int64) ((bytes + 2) / 3 * 4);
}

static int
decoded_length(const char *code)
{
	return (int) (strlen(code) / 4 * 3 + 3);
}

PG_FUNCTION_INFO_V1(qsketch_in);
Datum
qsketch_in(PG_FUNCTION_ARGS)
{
	const char *text = PG_GETARG_CSTRING(0);
	const char *code = text + PREFIX_LENGTH;
	struct varlena *value;
	int room;
	int length;

	if (strncmp(text, prefix, PREFIX_LENGTH) != 0)
		bad_text(text, "A sketch starts with \"qsketch:\".");
	room = decoded_length(code);
	value = palloc(VARHDRSZ + room);
	length = pg_b64_decode(code, (int) strlen(code), (void *) VARDATA(value), room);
	if (length < 0)
		bad_text(text, "What follows \"qsketch:\" is not base64.");
	SET_VARSIZE(value, VARHDRSZ + length);
	validate(value, ERRCODE_INVALID_TEXT_REPRESENTATION);
	PG_RETURN_POINTER(value);
}

/* The value as flat bytes. */
static struct varlena *
flat_argument(Datum datum)
{
	return PG_DETOAST_DATUM(datum);
}

PG_FUNCTION_INFO_V1(qsketch_out);
Datum
qsketch_out(PG_FUNCTION_ARGS)
{
	struct varlena *value = flat_argument(PG_GETARG_DATUM(0));
	int length = (int) (VARSIZE(value) - VARHDRSZ);
	int64 room = (int64) PREFIX_LENGTH + encoded_length(length) + 1;
	char *out;
	int written;

	if (room > (int64) MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("text form of sketch would need %lld bytes, more than the limit of %lld",
						(long long) room, (long long) MaxAllocSize),
				 errhint("Use binary format.")));
	out = palloc(room);
	memcpy(out, prefix, PREFIX_LENGTH);
	written = pg_b64_encode((const void *) VARDATA(value), length, out + PREFIX_LENGTH,
							(int) (room - PREFIX_LENGTH));
	if (written < 0)
		elog(ERROR, "could not encode sketch");
	out[PREFIX_LENGTH + written] = '\0';
	PG_RETURN_CSTRING(out);
}

PG_FUNCTION_INFO_V1(qsketch_recv);
Datum
qsketch_recv(PG_FUNCTION_ARGS)
{
	StringInfo message = (StringInfo) PG_GETARG_POINTER(0);
	int length = message->len - message->cursor;
	struct varlena *value = palloc(VARHDRSZ + length);

	SET_VARSIZE(value, VARHDRSZ + length);
	pq_copymsgbytes(message, VARDATA(value), length);
	validate(value, ERRCODE_INVALID_BINARY_REPRESENTATION);
	PG_RETURN_POINTER(value);
}

PG_FUNCTION_INFO_V1(qsketch_send);
Datum
qsketch_send(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0)));
}

/* Cast to bytea: the bytes are the same. */
PG_FUNCTION_INFO_V1(qsketch_to_bytea);
Datum
qsketch_to_bytea(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(flat_argument(PG_GETARG_DATUM(0)));
}

PG_FUNCTION_INFO_V1(qsketch_from_bytea);
Datum
qsketch_from_bytea(PG_FUNCTION_ARGS)
{
	struct varlena *value = flat_argument(PG_GETARG_DATUM(0));

	validate(value, ERRCODE_INVALID_BINARY_REPRESENTATION);
	PG_RETURN_POINTER(value);
}

/*
 * Order of two values: that of their bytes, which means nothing but is what
 * DISTINCT and sorting need.  Same parameters and same counts are same bytes.
 */
static int
compare(FunctionCallInfo fcinfo)
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

PG_FUNCTION_INFO_V1(qsketch_eq);
Datum
qsketch_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(fcinfo) == 0);
}

PG_FUNCTION_INFO_V1(qsketch_ne);
Datum
qsketch_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(fcinfo) != 0);
}

PG_FUNCTION_INFO_V1(qsketch_lt);
Datum
qsketch_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(fcinfo) < 0);
}

PG_FUNCTION_INFO_V1(qsketch_le);
Datum
qsketch_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(fcinfo) <= 0);
}

PG_FUNCTION_INFO_V1(qsketch_ge);
Datum
qsketch_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(fcinfo) >= 0);
}

PG_FUNCTION_INFO_V1(qsketch_gt);
Datum
qsketch_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare(fcinfo) > 0);
}

PG_FUNCTION_INFO_V1(qsketch_cmp);
Datum
qsketch_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare(fcinfo));
}

/* For hash joins and DISTINCT. */
PG_FUNCTION_INFO_V1(qsketch_hash);
Datum
qsketch_hash(PG_FUNCTION_ARGS)
{
	struct varlena *value = flat_argument(PG_GETARG_DATUM(0));
	uint32 hash = hash_bytes((const unsigned char *) VARDATA(value), VARSIZE(value) - VARHDRSZ);

	PG_FREE_IF_COPY(value, 0);
	PG_RETURN_UINT32(hash);
}
