/*
 * keys.c
 *		Reads keys from the visible tuples of a page, and adds them to states.
 *
 * A column that follows only columns of fixed width has the same offset in every tuple that has no
 * NULL before or in the column.  At this offset, the value is read in place (columns.h).  In other
 * tuples, heap_getattr() reads the value: it handles NULLs, variable width, and columns that were
 * added after the tuple was written.
 *
 * At a fixed offset, numbers are read in place, and strings are hashed in place.  Each of the most
 * frequent kinds has a loop of its own.
 *
 * For a key of several columns, the ordinary plan makes a row, and keybytes.c concatenates the
 * row's columns.  The scan copies each column directly from the tuple into the bytes of the key,
 * without making a row.  Only lists of top keys need the row.
 *
 * A key, or a column of a key, may also be an expression, which the executor evaluates
 * (columns.c).  If the values of a key's expression are numbers, the values may be cached like the
 * values of grouping expressions (groups/expr.c).
 *
 * src/scan/keys.c
 */
#include "scan/cached/cached.h"
#include "scan/groups/groups.h"

#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "pg/sets_state.h"
#include "pg/top_state.h"
#include "pgbase/keyfamily.h"
#include "pgbase/utf8.h"
#include "utils/rel.h"

typedef struct RowField
{
	ColumnLocation location;
	const KeyType *type;
} RowField;

struct RowKey
{
	int fields;
	RowField field[FLEXIBLE_ARRAY_MEMBER];
};

/* True if the row has no named type, and the types of all its columns have a hash function. */
bool
RowKeyTakes(const RowExpr *row)
{
	ListCell *cell;

	if (row->row_typeid != RECORDOID)
		return false;
	foreach (cell, row->args)
		if (!KeyTypeHasHash(exprType(lfirst(cell))))
			return false;
	return true;
}

static RowKey *
create_row(const RowExpr *row, EState *estate, Relation relation)
{
	RowKey *key = palloc0(offsetof(RowKey, field) + list_length(row->args) * sizeof(RowField));
	ListCell *cell;

	foreach (cell, row->args)
	{
		RowField *field = &key->field[key->fields++];
		Node *expr = lfirst(cell);

		ColumnLocationOf(&field->location, (Expr *) expr, estate, relation);
		field->type = KeyTypeWithin(exprType(expr), exprCollation(expr));
	}
	return key;
}

/*
 * Set aggregate->number if the key is an expression whose values are numbers, and
 * GroupExpressionIsShort() is true.
 */
static void
init_cache(ScanAggregate *aggregate)
{
	Expr *key = aggregate->call->key;
	GroupExpression *number;
	KeyKind kind;

	if (aggregate->location.expression == NULL || !KeyIsNumber(aggregate->keys) ||
		!ScanGroupingKind((Node *) key, &kind) || kind != aggregate->keys->kind)
		return;
	number = GroupExpressionCreate(key, kind, aggregate->location.expression);
	if (GroupExpressionIsShort(number))
		aggregate->number = number;
}

/*
 * Describe the aggregate's keys, for all groups.  For keys of several columns, the kinds of the
 * columns are recorded, too.
 */
void
ScanAggregateDescribeKeys(ScanAggregate *aggregate, EState *estate, Relation relation)
{
	const ColumnScanCall *call = aggregate->call;
	TupleDesc type;

	aggregate->keys = palloc0(sizeof(KeyType));
	KeyTypeInit(aggregate->keys, call->key_type, call->aggref->inputcollid);
	init_cache(aggregate);
	if (call->row == NULL)
		return;
	aggregate->row = create_row(call->row, estate, relation);
	type = ExecTypeFromExprList(call->row->args);
	aggregate->keys->keys.collation = KeyColumnsContent(type);
	FreeTupleDesc(type);
}

/* Prepare the caches of keys for a run, since parameters may have changed. */
void
ScanKeysStart(const ScanAggregate *aggregate, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (aggregate[i].number)
			GroupExpressionStart(aggregate[i].number);
}

/* Free the caches of keys at the end of a run. */
void
ScanKeysEnd(const ScanAggregate *aggregate, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (aggregate[i].number)
			GroupExpressionEnd(aggregate[i].number);
}

static inline void
put_field(const RowField *field, HeapTupleHeader tuple, KeyBytes *bytes)
{
	Datum value = 0;
	bool null;

	if (KeyIsNumber(field->type) && field->location.offset >= 0 &&
		ColumnAtOffset(&field->location, tuple))
	{
		KeyBytesPutByte(bytes, true);
		KeyBytesPutNumber(bytes, KeyNumberAt(ColumnAt(&field->location, tuple), field->type->kind));
		return;
	}
	null = !ColumnGetAny(&field->location, tuple, &value);
	KeyBytesPutMember(bytes, field->type, value, null);
}

static void
row_key_bytes(const RowKey *key, HeapTupleHeader tuple, KeyBytes *bytes)
{
	int i;

	KeyBytesBegin(bytes);
	for (i = 0; i < key->fields; i++)
		put_field(&key->field[i], tuple, bytes);
}

/* Minimum number of tuples that a list of texts adds as one batch. */
#define LEAST_BATCH 32

/* Ensure that the state's buffer has space for "count" keys. */
static void
make_room(ScanAggregate *aggregate, int count)
{
	KeyedState *state = aggregate->state;

	while (state->buffer.room - state->buffer.count < count)
		StateTypeOf(state)->make_room(state);
}

static void
add_any(ScanAggregate *aggregate, HeapTupleHeader header)
{
	Datum value;

	if (ColumnGetAny(&aggregate->location, header, &value))
		KeyBufferPut(&aggregate->state->buffer, KeyFingerprint(&aggregate->state->key, value));
}

/* Read numbers at a fixed offset.  "kind" is a constant for the most frequent kinds. */
static pg_attribute_always_inline void
add_numbers(ScanAggregate *aggregate, const PageTuples *tuples, KeyKind kind)
{
	KeyBuffer *buffer = &aggregate->state->buffer;
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		HeapTupleHeader tuple = tuples->tuple[i];

		FetchAhead(tuples, i);
		if (unlikely(!ColumnAtOffset(&aggregate->location, tuple)))
			add_any(aggregate, tuple);
		else
			KeyBufferPut(buffer, (uint64) KeyNumberAt(ColumnAt(&aggregate->location, tuple), kind));
	}
}

/*
 * Read strings at a fixed offset.  add_any() reads the strings that are compressed or out of
 * line.  "converted": the text is not in UTF-8, so add_any() also reads strings that are not
 * ASCII.
 */
static pg_attribute_always_inline void
add_strings(ScanAggregate *aggregate, const PageTuples *tuples, bool converted)
{
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		HeapTupleHeader tuple = tuples->tuple[i];
		const char *value = ColumnAt(&aggregate->location, tuple);

		FetchAhead(tuples, i);
		if (unlikely(!ColumnAtOffset(&aggregate->location, tuple)))
		{
			add_any(aggregate, tuple);
			continue;
		}
		if (!VARATT_NOT_PAD_BYTE(value))
			value = (const char *) TYPEALIGN(aggregate->location.align, value);
		if (unlikely(VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value)) ||
			(converted && !Utf8IsAscii(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value))))
			add_any(aggregate, tuple);
		else
			KeyBufferPut(&aggregate->state->buffer,
						 hash_bytes_extended((const unsigned char *) VARDATA_ANY(value),
											 (int) VARSIZE_ANY_EXHDR(value), 0));
	}
}

/* Read the fingerprint of a column; false: NULL. */
static inline bool
get_key(const ColumnLocation *location, KeyType *key, HeapTupleHeader tuple, uint64 *fingerprint)
{
	Datum value;

	if (KeyIsNumber(key))
		return ColumnGetNumber(location, key->kind, tuple, (int64 *) fingerprint);
	if (!ColumnGetAny(location, tuple, &value))
		return false;
	*fingerprint = KeyFingerprint(key, value);
	return true;
}

/* Read the number of an expression, without evaluating the expression if possible; false: NULL. */
static inline bool
get_number(GroupExpression *expression, HeapTupleHeader tuple, uint64 *number)
{
	GroupValue value = { 0 };

	GroupExpressionRead(expression, tuple, &value);
	*number = (uint64) value.bits;
	return !value.null;
}

/*
 * Read the fingerprint of a key; false: NULL.  A key of several columns is never NULL, even if
 * its columns are.
 */
static inline bool
get_fingerprint(const ScanAggregate *aggregate, HeapTupleHeader tuple, uint64 *fingerprint)
{
	KeyBytes bytes;

	if (aggregate->row)
	{
		row_key_bytes(aggregate->row, tuple, &bytes);
		*fingerprint = KeyBytesHash(&bytes, 0);
		return true;
	}
	if (aggregate->number)
		return get_number(aggregate->number, tuple, fingerprint);
	return get_key(&aggregate->location, &aggregate->state->key, tuple, fingerprint);
}

/*
 * Read a column's values in all tuples, in the format of cached columns, and set null[i] for
 * each tuple.  Returns the number of values that are not NULL.
 */
int
ColumnValues(const ColumnLocation *location, KeyType *key, PageTuples *tuples, uint64 *to,
			 bool *null)
{
	int count = 0;
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		HeapTupleHeader tuple = tuples->tuple[i];

		FetchAhead(tuples, i);
		to[i] = 0;
		null[i] = !get_key(location, key, tuple, &to[i]);
		count += !null[i];
	}
	tuples->stride = 0; /* the loop has prefetched the whole next page */
	return count;
}

/*
 * Read the weight or set id; false: NULL, and the row is ignored.  Even for an ignored row, a key
 * that is an expression is evaluated, because the expression may raise an error.
 */
static inline bool
get_weight(const ScanAggregate *aggregate, HeapTupleHeader tuple, int64 *weight)
{
	Datum value;

	if (likely(ColumnGetNumber(&aggregate->weight, aggregate->call->weight_kind, tuple, weight)))
		return true;
	if (aggregate->location.expression)
		(void) ColumnGetAny(&aggregate->location, tuple, &value);
	return false;
}

/* Read one key with its weight; false: the key or the weight is NULL. */
static inline bool
get_weighted(const ScanAggregate *aggregate, HeapTupleHeader tuple, uint64 *fingerprint,
			 int64 *weight)
{
	if (!get_weight(aggregate, tuple, weight) || !get_fingerprint(aggregate, tuple, fingerprint))
		return false;
	SketchCheckWeight(*weight);
	return true;
}

/* Read an element that is a number; false: NULL. */
static inline bool
get_element(const ScanAggregate *aggregate, KeyKind kind, HeapTupleHeader tuple, uint64 *number)
{
	return aggregate->number ? get_number(aggregate->number, tuple, number)
							 : ColumnGetNumber(&aggregate->location, kind, tuple, (int64 *) number);
}

/* Read elements of sets.  A row whose id or element is NULL does not count. */
static void
add_members(ScanAggregate *aggregate, const PageTuples *tuples)
{
	SetsState *sets = (SetsState *) aggregate->state;
	const KeyType *key = &sets->keyed.key;
	bool is_number = KeyIsNumber(key);
	KeyBytes bytes;
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		HeapTupleHeader tuple = tuples->tuple[i];
		uint64 number;
		int64 id;
		Datum value;

		FetchAhead(tuples, i);
		if (!get_weight(aggregate, tuple, &id))
			continue;
		if (aggregate->row)
		{
			row_key_bytes(aggregate->row, tuple, &bytes);
			SetsAddHash(sets, id, KeyBytesHash(&bytes, 0), KeyBytesHash(&bytes, 1));
		}
		else if (is_number)
		{
			if (get_element(aggregate, key->kind, tuple, &number))
				SetsAddNumber(sets, id, number);
		}
		else if (ColumnGetAny(&aggregate->location, tuple, &value))
			SetsAddKey(sets, id, value);
	}
}

/* Read keys of any kind, at any offset. */
static void
add_all(ScanAggregate *aggregate, const PageTuples *tuples)
{
	uint64 key;
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		FetchAhead(tuples, i);
		if (get_fingerprint(aggregate, tuples->tuple[i], &key))
			KeyBufferPut(&aggregate->state->buffer, key);
	}
}

/* Add the keys of all tuples to their state. */
static void
add_keys(ScanAggregate *aggregate, const PageTuples *tuples)
{
	KeyedState *state = aggregate->state;
	bool fixed = aggregate->location.offset >= 0 && aggregate->row == NULL;
	KeyKind kind = fixed ? state->key.kind : KEY_HASHED;
	int before;

	make_room(aggregate, tuples->count);
	before = state->buffer.count;
	switch (kind)
	{
		case KEY_INT8:
			add_numbers(aggregate, tuples, KEY_INT8);
			break;
		case KEY_INT4:
			add_numbers(aggregate, tuples, KEY_INT4);
			break;
		case KEY_FLOAT8:
			add_numbers(aggregate, tuples, KEY_FLOAT8);
			break;
		case KEY_BYTES:
			add_strings(aggregate, tuples, false);
			break;
		case KEY_TEXT:
			add_strings(aggregate, tuples, true);
			break;
		default:
			if (fixed && KeyIsNumber(&state->key))
				add_numbers(aggregate, tuples, kind);
			else
				add_all(aggregate, tuples);
	}
	state->count += state->buffer.count - before;
}

/* A page of tuples whose keys are added to a list of texts as one batch. */
typedef struct TopPage
{
	const ScanAggregate *aggregate;
	const PageTuples *tuples;
	bool located;                       /* "index" is filled in */
	uint16 index[MaxHeapTuplesPerPage]; /* for each key of the batch: the index of its tuple */
} TopPage;

/* Fill in "index".  The batch has one key for each tuple whose key is not NULL. */
static void
locate(TopPage *page)
{
	int rows = 0;
	int i;

	for (i = 0; i < page->tuples->count; i++)
		if (!ColumnIsNull(&page->aggregate->location, page->tuples->tuple[i]))
			page->index[rows++] = (uint16) i;
	page->located = true;
}

/* Read the value of a key in the batch from the page again. */
static Datum
value_on_page(void *rows, uint32 row)
{
	TopPage *page = rows;
	Datum value;
	int i;

	if (!page->located)
		locate(page);
	i = page->index[row];
	if (!ColumnGetAny(&page->aggregate->location, page->tuples->tuple[i], &value))
		elog(ERROR, "top key without a value");
	return value;
}

/*
 * Add keys with weights to a sketch or a list of top keys.  A row whose key or weight is NULL
 * does not count.  "page" receives the index of each key's tuple, or is NULL.
 */
static void
add_weighted(ScanAggregate *aggregate, const PageTuples *tuples, TopPage *page)
{
	TopState *top = ScanAggregateState(aggregate, &top_state_type);
	int64 weight;
	uint64 key;
	int i;

	if (top)
		make_room(aggregate, tuples->count);
	for (i = 0; i < tuples->count; i++)
	{
		FetchAhead(tuples, i);
		if (!get_weighted(aggregate, tuples->tuple[i], &key, &weight))
			continue;
		if (page)
			page->index[aggregate->state->buffer.count] = (uint16) i;
		if (top)
			TopPut(top, key, weight);
		else
			SketchCount((SketchState *) aggregate->state, key, weight);
	}
}

/* Add keys one by one to a list of texts, which copies their values. */
static void
add_few_texts(ScanAggregate *aggregate, const PageTuples *tuples)
{
	TopState *top = (TopState *) aggregate->state;
	int64 weight = 1;
	Datum value;
	int i;

	for (i = 0; i < tuples->count; i++)
	{
		HeapTupleHeader tuple = tuples->tuple[i];

		FetchAhead(tuples, i);
		if (aggregate->weight.attribute && !get_weight(aggregate, tuple, &weight))
			continue;
		if (ColumnGetAny(&aggregate->location, tuple, &value))
			TopCount(top, value, SketchCheckWeight(weight));
	}
}

/*
 * Add the keys of a page to a list of texts, as one batch.  When a key of the batch becomes a
 * candidate, its value is read from the page again.  Keys are added one by one in two cases:
 * if the page has fewer than LEAST_BATCH tuples for this list, and if the key is an
 * expression, whose value is not on the page.
 */
static void
add_texts(ScanAggregate *aggregate, const PageTuples *tuples)
{
	KeyedState *state = aggregate->state;
	TopPage page = { .aggregate = aggregate, .tuples = tuples };

	if (tuples->count < LEAST_BATCH || aggregate->location.expression)
	{
		add_few_texts(aggregate, tuples);
		return;
	}
	if (state->buffer.count > 0)
		TopMakeRoom(state);
	page.located = aggregate->weight.attribute != 0;
	if (page.located)
		add_weighted(aggregate, tuples, &page);
	else
		add_keys(aggregate, tuples);
	TopFlushRows((TopState *) state, value_on_page, &page);
}

/* Count the tuples, or only the tuples in which the column is not NULL. */
static void
count_rows(ScanAggregate *aggregate, const PageTuples *tuples)
{
	int i;

	if (aggregate->location.attribute == 0)
	{
		aggregate->rows += tuples->count;
		return;
	}
	for (i = 0; i < tuples->count; i++)
	{
		FetchAhead(tuples, i);
		aggregate->rows += !ColumnIsNull(&aggregate->location, tuples->tuple[i]);
	}
}

/* Add all tuples to an aggregate of any family. */
void
ScanAggregateAdd(ScanAggregate *aggregate, PageTuples *tuples)
{
	if (aggregate->builtin)
		BuiltinAdd(aggregate->builtin, &aggregate->computed, tuples);
	else if (aggregate->state == NULL)
		count_rows(aggregate, tuples);
	else if (ScanAggregateState(aggregate, &sets_state_type))
		add_members(aggregate, tuples);
	else if (ScanAggregateState(aggregate, &top_state_type) && !KeyIsNumber(&aggregate->state->key))
		add_texts(aggregate, tuples);
	else if (aggregate->weight.attribute)
		add_weighted(aggregate, tuples, NULL);
	else
		add_keys(aggregate, tuples);
	if (aggregate->location.attribute || aggregate->builtin)
		tuples->stride = 0; /* reading the tuples has prefetched the whole next page */
}
