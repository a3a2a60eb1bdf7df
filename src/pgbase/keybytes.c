/*
 * keybytes.c
 *		Writes a key as bytes that hold everything that = compares, and hashes these bytes.
 *
 * This file frees all memory that it allocates.
 *
 * src/pgbase/keybytes.c
 */
#include "pgbase/keybytes.h"

#include "pgbase/utf8.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/multirangetypes.h"
#include "utils/rangetypes.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

/* ---- the block ---- */

/* Seeds of the hashes of a full block. */
#define BLOCK_LOW  2
#define BLOCK_HIGH 3

/*
 * Return the hash of all bytes.  The number of full blocks is part of the seed, because the bytes
 * of a key could equal the hashes of a full block.
 */
uint64
KeyBytesHash(const KeyBytes *bytes, uint64 seed)
{
	return hash_bytes_extended((const unsigned char *) bytes->block, bytes->used,
							   (uint64) bytes->full << 32 | seed);
}

static void
fold_block(KeyBytes *bytes)
{
	uint64 hash[] = { KeyBytesHash(bytes, BLOCK_LOW), KeyBytesHash(bytes, BLOCK_HIGH) };

	CHECK_FOR_INTERRUPTS();
	memcpy(bytes->block, hash, sizeof(hash));
	bytes->used = sizeof(hash);
	bytes->full++;
}

/* Put bytes that may not fit into the block. */
void
KeyBytesPutLong(KeyBytes *bytes, const char *data, Size length)
{
	while (length > 0)
	{
		Size piece;

		if (bytes->used == KEY_BLOCK)
			fold_block(bytes);
		piece = Min(length, (Size) (KEY_BLOCK - bytes->used));
		memcpy(bytes->block + bytes->used, data, piece);
		bytes->used += (int) piece;
		data += piece;
		length -= piece;
	}
}

/* ---- numerics and intervals ---- */

/* Kinds of numerics; KIND_SPECIAL stands for NaN and the infinities. */
#define KIND_ZERO     0
#define KIND_POSITIVE 1
#define KIND_NEGATIVE 2
#define KIND_SPECIAL  3
#define KIND_BITS     2

/* NO_DIGIT follows the last digit, and is greater than any digit. */
#define NO_DIGIT PG_UINT16_MAX

static inline void
put_head(KeyBytes *bytes, int32 rest, int32 kind)
{
	int32 head = rest * (1 << KIND_BITS) + kind;

	KeyBytesPut(bytes, &head, sizeof(head));
}

/* Inlined, so that KeyDecimalOf() is the only call for a numeric. */
static pg_attribute_always_inline void
put_numeric(KeyBytes *bytes, const char *data, Size length)
{
	const uint16 last = NO_DIGIT;
	KeyDecimal n = KeyDecimalOf(data, length);

	if (n.special || n.digit >= n.end)
	{
		put_head(bytes, n.special ? n.weight : 0, n.special ? KIND_SPECIAL : KIND_ZERO);
		return;
	}
	put_head(bytes, n.weight, n.negative ? KIND_NEGATIVE : KIND_POSITIVE);
	for (; n.digit < n.end; n.digit += KEY_DIGIT_BYTES)
		KeyBytesPut(bytes, n.digit, KEY_DIGIT_BYTES);
	KeyBytesPut(bytes, &last, sizeof(last));
}

/* Number of bits that the microseconds of a day need.  The days of an interval fit in 43 bits. */
#define TIME_BITS 37

static void
put_interval(KeyBytes *bytes, const Interval *span)
{
	int64 time;
	int64 days = KeyDaysOf(span, &time);
	int16 high = (int16) (days >> (64 - TIME_BITS));

	KeyBytesPutNumber(bytes, time | (int64) ((uint64) days << TIME_BITS));
	KeyBytesPut(bytes, &high, sizeof(high));
}

/* ---- strings, and keys of other extensions ---- */

/* A key as a string.  Keys are equal if and only if their strings are equal. */
typedef struct KeyString
{
	const char *data;
	Size length;
	void *allocated; /* memory to be freed, or NULL */
	bool not_ascii;  /* the text is not ASCII, and the database's encoding is not UTF-8 */
} KeyString;

static inline void
free_string(KeyString *string)
{
	if (string->allocated)
		pfree(string->allocated);
	string->allocated = NULL;
}

/*
 * Convert the database's text to UTF-8.  If the database's encoding is unknown, return the text
 * unchanged.
 */
static KeyString
in_utf8(KeyString string)
{
	char *converted;

	if (Utf8IsNative() || Utf8IsAscii(string.data, string.length))
		return string;
	string.not_ascii = true;
	if (!Utf8IsKnown())
		return string;
	converted = (char *) Utf8Of(string.data, &string.length);
	free_string(&string);
	string.data = string.allocated = converted;
	return string;
}

static inline KeyString
varlena_string(Datum value)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);

	return (KeyString){ VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
						(Pointer) bytes != DatumGetPointer(value) ? bytes : NULL };
}

static KeyString
padded_string(Datum value)
{
	KeyString string = varlena_string(value);

	string.length = (Size) bpchartruelen((char *) string.data, (int) string.length);
	return string;
}

static KeyString
label_string(Oid value)
{
	HeapTuple tuple = SearchSysCache1(ENUMOID, ObjectIdGetDatum(value));
	char *label;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
						errmsg("invalid internal value for enum: %u", value)));
	label = pstrdup(NameStr(((Form_pg_enum) GETSTRUCT(tuple))->enumlabel));
	ReleaseSysCache(tuple);
	return (KeyString){ label, strlen(label), .allocated = label };
}

static KeyString
any_string(const KeyType *key, Datum value)
{
	switch (key->kind)
	{
		case KEY_PADDED:
			return in_utf8(padded_string(value));
		case KEY_ENUM:
			return in_utf8(label_string(DatumGetObjectId(value)));
		case KEY_NAME:
			return in_utf8((KeyString){ NameStr(*DatumGetName(value)),
										strlen(NameStr(*DatumGetName(value))) });
		default:
			return (KeyString){ DatumGetPointer(value), (Size) key->length, NULL };
	}
}

/* Return the string of a key.  The most frequent cases are inlined: KEY_BYTES, and ASCII text. */
static inline KeyString
string_of(const KeyType *key, Datum value)
{
	KeyString string;

	if (likely(key->kind == KEY_BYTES))
		return varlena_string(value);
	if (key->kind != KEY_TEXT)
		return any_string(key, value);
	string = varlena_string(value);
	return likely(Utf8IsAscii(string.data, string.length)) ? string : in_utf8(string);
}

/*
 * A length below LONG_STRING takes one byte.  Any other length takes 4 bytes, after a byte that is
 * LONG_STRING.
 */
#define LONG_STRING 0xFF

static inline void
put_string(KeyBytes *bytes, const char *data, Size length)
{
	uint32 size = (uint32) length;

	KeyBytesPutByte(bytes, (char) Min(size, LONG_STRING));
	if (size >= LONG_STRING)
		KeyBytesPut(bytes, &size, sizeof(size));
	KeyBytesPut(bytes, data, length);
}

static void
put_and_free(KeyBytes *bytes, KeyString string)
{
	put_string(bytes, string.data, string.length);
	bytes->not_ascii |= string.not_ascii;
	free_string(&string);
}

/*
 * Compute hashes by the type's own hash function.  char(n) is converted to text first.  In some
 * versions of PostgreSQL, hashbpcharextended() includes trailing blanks under nondeterministic
 * collations.
 */
static void
call_hash(const KeyType *key, Datum value, int hashes, uint64 *hash)
{
	KeyString string;
	text *allocated = NULL;
	int seed;

	if (key->kind == KEY_PADDED_HASHED)
	{
		string = padded_string(value);
		allocated = cstring_to_text_with_len(string.data, (int) string.length);
		free_string(&string);
		value = PointerGetDatum(allocated);
	}
	for (seed = 0; seed < hashes; seed++)
		hash[seed] = DatumGetUInt64(FunctionCall2Coll(key->hash, key->input_collation, value,
													  UInt64GetDatum((uint64) seed)));
	if (allocated)
		pfree(allocated);
}

/*
 * True if the key is text of an extension's type and not ASCII, and the database's encoding is not
 * UTF-8.
 */
static bool
foreign_not_ascii(const KeyType *key, Datum value)
{
	KeyString string;
	bool ascii;

	if (!key->foreign_text)
		return false;
	string = varlena_string(value);
	ascii = Utf8IsAscii(string.data, string.length);
	free_string(&string);
	return !ascii;
}

static void
put_hashes(KeyBytes *bytes, const KeyType *key, Datum value)
{
	uint64 hash[2];

	call_hash(key, value, lengthof(hash), hash);
	KeyBytesPut(bytes, hash, sizeof(hash));
	bytes->not_ascii |= foreign_not_ascii(key, value);
}

/* ---- privileges ---- */

/* Put an aclitem as four fields, because the layout of its bits changed in PostgreSQL 16. */
static void
put_aclitem(KeyBytes *bytes, const AclItem *item)
{
	uint32 field[] = { item->ai_grantee, item->ai_grantor, (uint32) ACLITEM_GET_PRIVS(*item),
					   (uint32) ACLITEM_GET_GOPTIONS(*item) };

	KeyBytesPut(bytes, field, sizeof(field));
}

/* ---- jsonb ---- */

/* The byte with which each token of a jsonb begins. */
typedef enum JsonbTag
{
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_STRING,
	JSON_NUMBER,
	JSON_SCALAR, /* begins a jsonb that is a single scalar */
	JSON_ARRAY,
	JSON_OBJECT,
	JSON_END
} JsonbTag;

static void
put_json_scalar(KeyBytes *bytes, const JsonbValue *value)
{
	switch (value->type)
	{
		case jbvNull:
			KeyBytesPutByte(bytes, JSON_NULL);
			break;
		case jbvBool:
			KeyBytesPutByte(bytes, value->val.boolean ? JSON_TRUE : JSON_FALSE);
			break;
		case jbvString:
			KeyBytesPutByte(bytes, JSON_STRING);
			put_string(bytes, value->val.string.val, (Size) value->val.string.len);
			break;
		case jbvNumeric:
			KeyBytesPutByte(bytes, JSON_NUMBER);
			put_numeric(bytes, VARDATA_ANY(value->val.numeric),
						VARSIZE_ANY_EXHDR(value->val.numeric));
			break;
		default:
			elog(ERROR, "unrecognized jsonb scalar type: %d", (int) value->type);
	}
}

static void
put_json_token(KeyBytes *bytes, JsonbIteratorToken token, const JsonbValue *value)
{
	switch (token)
	{
		case WJB_BEGIN_ARRAY:
			KeyBytesPutByte(bytes, value->val.array.rawScalar ? JSON_SCALAR : JSON_ARRAY);
			break;
		case WJB_BEGIN_OBJECT:
			KeyBytesPutByte(bytes, JSON_OBJECT);
			break;
		case WJB_END_ARRAY:
		case WJB_END_OBJECT:
			KeyBytesPutByte(bytes, JSON_END);
			break;
		default:
			put_json_scalar(bytes, value);
	}
}

static bool
has_string(JsonbIteratorToken token, const JsonbValue *value)
{
	return (token == WJB_KEY || token == WJB_VALUE || token == WJB_ELEM) &&
		   value->type == jbvString;
}

static int64
count_json_tokens(Jsonb *json)
{
	JsonbIterator *iterator = JsonbIteratorInit(&json->root);
	JsonbValue value;
	int64 tokens = 0;

	while (JsonbIteratorNext(&iterator, &value, false) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		tokens++;
	}
	return tokens;
}

static bool
json_is_ascii(Jsonb *json)
{
	JsonbIterator *iterator = JsonbIteratorInit(&json->root);
	JsonbIteratorToken token;
	JsonbValue value;
	bool ascii = true;

	while ((token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		if (has_string(token, &value))
			ascii &= Utf8IsAscii(value.val.string.val, (Size) value.val.string.len);
	}
	return ascii;
}

#if PG_VERSION_NUM < 190000
/* The struct that PostgreSQL 19 uses to build a jsonb. */
typedef struct JsonbInState
{
	JsonbParseState *parse;
	JsonbValue *result;
} JsonbInState;

static void
push_json_value(JsonbInState *state, JsonbIteratorToken token, JsonbValue *value)
{
	state->result = pushJsonbValue(&state->parse, token, value);
}
#else
#define push_json_value pushJsonbValue
#endif

/* Return a copy in UTF-8.  The keys of an object may have another order in the copy. */
static Jsonb *
json_in_utf8(Jsonb *json)
{
	JsonbIterator *iterator = JsonbIteratorInit(&json->root);
	JsonbInState converted = { 0 };
	JsonbIteratorToken token;
	JsonbValue value;

	while ((token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE)
	{
		bool is_value =
			token < WJB_BEGIN_ARRAY || (token == WJB_BEGIN_ARRAY && value.val.array.rawScalar);

		CHECK_FOR_INTERRUPTS();
		if (has_string(token, &value))
		{
			Size length = (Size) value.val.string.len;

			value.val.string.val = (char *) Utf8Of(value.val.string.val, &length);
			value.val.string.len = (int) length;
		}
		push_json_value(&converted, token, is_value ? &value : NULL);
	}
	return JsonbValueToJsonb(converted.result);
}

/* Put the tokens of a jsonb, and return their number. */
static int64
put_json(KeyBytes *bytes, Jsonb *json)
{
	JsonbIterator *iterator = JsonbIteratorInit(&json->root);
	JsonbIteratorToken token;
	JsonbValue value;
	int64 tokens;

	for (tokens = 0; (token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE; tokens++)
	{
		CHECK_FOR_INTERRUPTS();
		put_json_token(bytes, token, &value);
	}
	return tokens;
}

/*
 * Put a jsonb in UTF-8.  If two keys of an object become equal in UTF-8, the converted jsonb lacks
 * a member.  The jsonb in the database's encoding then follows, because it has all members.
 */
static void
put_json_converted(KeyBytes *bytes, Jsonb *json)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "jsonb in UTF-8", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int64 tokens;

	tokens = put_json(bytes, json_in_utf8(json));
	if (tokens != count_json_tokens(json))
		put_json(bytes, json);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
put_jsonb(KeyBytes *bytes, Datum value)
{
	Jsonb *json = DatumGetJsonbP(value);
	bool foreign = !Utf8IsNative() && !json_is_ascii(json);

	if (foreign && Utf8IsKnown())
		put_json_converted(bytes, json);
	else
		put_json(bytes, json);
	bytes->not_ascii |= foreign;
	if ((Pointer) json != DatumGetPointer(value))
		pfree(json);
}

/* ---- arrays and ranges ---- */

/* Number of elements or ranges between two checks for interrupts. */
#define ELEMENTS_AT_ONCE 4096

static void
put_elements(KeyBytes *bytes, ArrayType *array, const KeyType *element)
{
	const char *at = ARR_DATA_PTR(array);
	const uint8 *present = ARR_NULLBITMAP(array);
	int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	int i;

	for (i = 0; i < count; i++)
	{
		bool null = present && !(present[i / BITS_PER_BYTE] & 1 << i % BITS_PER_BYTE);
		Datum value = null ? 0 : fetch_att(at, element->by_value, element->length);

		if (i % ELEMENTS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		KeyBytesPutMember(bytes, element, value, null);
		if (null)
			continue;
		at = att_addlength_pointer(at, element->length, at);
		at = (const char *) att_align_nominal(at, element->align);
	}
}

static void
put_array(KeyBytes *bytes, Datum value, Oid collation)
{
	ArrayType *array = DatumGetArrayTypeP(value);
	Size dimensions = ARR_NDIM(array) * sizeof(int);

	check_stack_depth();
	KeyBytesPutByte(bytes, (char) ARR_NDIM(array));
	KeyBytesPut(bytes, ARR_DIMS(array), dimensions);
	KeyBytesPut(bytes, ARR_LBOUND(array), dimensions);
	put_elements(bytes, array, KeyTypeWithin(ARR_ELEMTYPE(array), collation));
	if ((Pointer) array != DatumGetPointer(value))
		pfree(array);
}

static void
put_bound(KeyBytes *bytes, const KeyType *key, const RangeBound *bound)
{
	if (!bound->infinite)
		KeyBytesPutMember(bytes, key, bound->val, false);
}

static void
put_bounds(KeyBytes *bytes, const TypeCacheEntry *range, const RangeBound *lower,
		   const RangeBound *upper)
{
	const KeyType *key = KeyTypeWithin(range->rngelemtype->type_id, range->rng_collation);

	KeyBytesPutByte(
		bytes,
		(char) ((lower->inclusive ? RANGE_LB_INC : 0) | (lower->infinite ? RANGE_LB_INF : 0) |
				(upper->inclusive ? RANGE_UB_INC : 0) | (upper->infinite ? RANGE_UB_INF : 0)));
	put_bound(bytes, key, lower);
	put_bound(bytes, key, upper);
}

static void
put_range(KeyBytes *bytes, Datum value)
{
	RangeType *range = DatumGetRangeTypeP(value);
	TypeCacheEntry *type = lookup_type_cache(RangeTypeGetOid(range), TYPECACHE_RANGE_INFO);
	RangeBound lower;
	RangeBound upper;
	bool empty;

	check_stack_depth();
	range_deserialize(type, range, &lower, &upper, &empty);
	if (empty)
		KeyBytesPutByte(bytes, RANGE_EMPTY);
	else
		put_bounds(bytes, type, &lower, &upper);
	if ((Pointer) range != DatumGetPointer(value))
		pfree(range);
}

static void
put_multirange(KeyBytes *bytes, Datum value)
{
	MultirangeType *ranges = DatumGetMultirangeTypeP(value);
	TypeCacheEntry *type =
		lookup_type_cache(MultirangeTypeGetOid(ranges), TYPECACHE_MULTIRANGE_INFO)->rngtype;
	uint32 i;

	check_stack_depth();
	KeyBytesPut(bytes, &ranges->rangeCount, sizeof(ranges->rangeCount));
	for (i = 0; i < ranges->rangeCount; i++)
	{
		RangeBound lower;
		RangeBound upper;

		if (i % ELEMENTS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		multirange_get_bounds(type, ranges, i, &lower, &upper);
		put_bounds(bytes, type, &lower, &upper);
	}
	if ((Pointer) ranges != DatumGetPointer(value))
		pfree(ranges);
}

/* ---- rows ---- */

/* Put a literal without a type, which counts as text. */
static void
put_unknown(KeyBytes *bytes, Datum value, bool null)
{
	KeyBytesPutByte(bytes, !null);
	if (!null)
		put_and_free(
			bytes, in_utf8((KeyString){ DatumGetCString(value), strlen(DatumGetCString(value)) }));
}

static void
put_columns(KeyBytes *bytes, TupleDesc descriptor, HeapTuple tuple)
{
	Datum *value = palloc(Max(descriptor->natts, 1) * sizeof(Datum));
	bool *null = palloc(Max(descriptor->natts, 1) * sizeof(bool));
	int i;

	heap_deform_tuple(tuple, descriptor, value, null);
	for (i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(descriptor, i);

		if (column->attisdropped)
			continue;
		if (column->atttypid == UNKNOWNOID)
			put_unknown(bytes, value[i], null[i]);
		else
			KeyBytesPutMember(bytes, KeyTypeWithin(column->atttypid, column->attcollation),
							  value[i], null[i]);
	}
	pfree(value);
	pfree(null);
}

/* Raise an error unless an anonymous row has the content hash of the first row (keyfamily.c). */
static void
check_content(const KeyType *key, HeapTupleHeader row)
{
	KeyRow this = { HeapTupleHeaderGetTypeId(row), HeapTupleHeaderGetTypMod(row) };

	if (OidIsValid(key->row.type) &&
		(this.type != key->row.type || this.typmod != key->row.typmod) &&
		KeyRowContent(this.type, this.typmod) != key->keys.collation)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("rows that are keys must all have columns of the same types"),
						errhint("Cast the columns to the same types in all rows.")));
}

/*
 * Put a row.  An anonymous row within another key begins with the row's content hash (keyfamily.c).
 */
static void
put_row(KeyBytes *bytes, const KeyType *key, Datum value, bool within)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(value);
	HeapTupleData tuple = { .t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row };
	Oid type = HeapTupleHeaderGetTypeId(row);
	int32 typmod = HeapTupleHeaderGetTypMod(row);
	TupleDesc descriptor = lookup_rowtype_tupdesc(type, typmod);
	uint32 content;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (!within)
		check_content(key, row);
	else if (getBaseType(key->type) == RECORDOID)
	{
		content = KeyRowContent(type, typmod);
		KeyBytesPut(bytes, &content, sizeof(content));
	}
	put_columns(bytes, descriptor, &tuple);
	ReleaseTupleDesc(descriptor);
	if ((Pointer) row != DatumGetPointer(value))
		pfree(row);
}

/* ---- keys of any type ---- */

static void
put_varlena_numeric(KeyBytes *bytes, Datum value)
{
	KeyString string = varlena_string(value);

	put_numeric(bytes, string.data, string.length);
	free_string(&string);
}

/*
 * True if the key is a numeric or interval that is its own fingerprint.  *number is then the
 * fingerprint.
 */
static inline bool
is_short(const KeyType *key, Datum value, int64 *number)
{
	KeyString string;
	bool is;

	if (key->kind == KEY_INTERVAL)
		return KeyShortInterval(DatumGetIntervalP(value), number);
	if (key->kind != KEY_NUMERIC)
		return false;
	string = varlena_string(value);
	is = KeyShortNumeric(string.data, string.length, number);
	free_string(&string);
	return is;
}

/*
 * Put a key that is neither a string nor hashed by its type's function.  "within": another key
 * contains the key.
 */
static void
put_structured(KeyBytes *bytes, const KeyType *key, Datum value, bool within)
{
	switch (key->kind)
	{
		case KEY_NUMERIC:
			put_varlena_numeric(bytes, value);
			break;
		case KEY_INTERVAL:
			put_interval(bytes, DatumGetIntervalP(value));
			break;
		case KEY_ACLITEM:
			put_aclitem(bytes, DatumGetAclItemP(value));
			break;
		case KEY_JSONB:
			put_jsonb(bytes, value);
			break;
		case KEY_ARRAY:
			put_array(bytes, value, key->input_collation);
			break;
		case KEY_RANGE:
			put_range(bytes, value);
			break;
		case KEY_MULTIRANGE:
			put_multirange(bytes, value);
			break;
		case KEY_ROW:
			put_row(bytes, key, value, within);
			break;
		default:
			elog(ERROR, "unrecognized kind of key: %d", (int) key->kind);
	}
}

static bool
is_string(KeyKind kind)
{
	return kind >= KEY_BYTES && kind <= KEY_ENUM;
}

static bool
is_hashed(KeyKind kind)
{
	return kind == KEY_HASHED || kind == KEY_PADDED_HASHED;
}

/* Put a member of an array, a row or a range.  The member is no number. */
void
KeyBytesPutKey(KeyBytes *bytes, const KeyType *key, Datum value)
{
	if (is_string(key->kind))
		put_and_free(bytes, string_of(key, value));
	else if (is_hashed(key->kind))
		put_hashes(bytes, key, value);
	else
		put_structured(bytes, key, value, true);
}

/*
 * Compute the hashes of a key that is no number, with the seeds 0, 1 and so on.  Returns true if
 * the key has text that is not ASCII, and the database's encoding is not UTF-8.  Text under a
 * nondeterministic collation does not count, because its hash does not depend on the encoding.
 */
static bool
hash_key(const KeyType *key, Datum value, int hashes, uint64 *hash)
{
	KeyBytes bytes;
	KeyString string;
	int seed;

	if (is_hashed(key->kind))
	{
		call_hash(key, value, hashes, hash);
		return foreign_not_ascii(key, value);
	}
	if (is_string(key->kind))
	{
		string = string_of(key, value);
		for (seed = 0; seed < hashes; seed++)
			hash[seed] = hash_bytes_extended((const unsigned char *) string.data,
											 (int) string.length, (uint64) seed);
		free_string(&string);
		return string.not_ascii;
	}
	KeyBytesBegin(&bytes);
	put_structured(&bytes, key, value, false);
	for (seed = 0; seed < hashes; seed++)
		hash[seed] = KeyBytesHash(&bytes, (uint64) seed);
	return bytes.not_ascii;
}

/* Record that a key has text that is not ASCII.  If the encoding is known, nothing changes. */
static void
note_text(KeyType *key)
{
	if (key->keys.text == QB_TEXT_ASCII)
		key->keys.text = QB_TEXT_BYTES;
}

uint64
KeyHash(KeyType *key, Datum value)
{
	uint64 hash;
	int64 number;

	if (is_short(key, value, &number))
		return (uint64) number;
	if (unlikely(hash_key(key, value, 1, &hash)))
		note_text(key);
	return hash;
}

/*
 * Compute a hash of 128 bits.  For a key that is its own fingerprint, *low is the fingerprint and
 * *high is 0.
 */
void
KeyHashWide(KeyType *key, Datum value, uint64 *low, uint64 *high)
{
	uint64 hash[2] = { 0 };
	int64 number;

	if (is_short(key, value, &number))
		hash[0] = (uint64) number;
	else if (unlikely(hash_key(key, value, lengthof(hash), hash)))
		note_text(key);
	*low = hash[0];
	*high = hash[1];
}
