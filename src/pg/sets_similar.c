/*
 * sets_similar.c
 *		The sets of a collection that are most similar to a set of the collection, or to given
 *		elements.
 *
 * The first question to a collection reads it and looks at all of its sets.  The second question
 * prepares the collection, and later questions use what was prepared.  The process keeps it for
 * stored collections.  The calling expression keeps it for other collections, and for stored ones
 * that are too large for the process.
 *
 * The calling expression recognizes a collection without reading it.  A stored collection is
 * recognized by its toast pointer.  Another flat collection is recognized by its bytes.  A copy of
 * them is kept, unless it is larger than a hash table may be.  An expanded object is recognized by
 * the number of its version.
 *
 * src/pg/sets_similar.c
 */
#include "pg/sets_state.h"

#include <limits.h>

#include "access/parallel.h"
#include "engine/sets_kernels.h"
#include "miscadmin.h"
#include "pg/sets_elements.h"
#include "pg/sets_scan.h"
#include "pgbase/keyfamily.h"
#include "pgbase/value.h"
#include "pgbase/stored.h"
#include "sets/collection.h"
#include "sets/pairs.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* A prepared collection, in a memory context of its own. */
typedef struct PreparedSets
{
	MemoryContext context;
	qb_memory memory;
	qset_postings postings;
} PreparedSets;

/*
 * ---- collections prepared for questions about single sets, and kept from query to query ----
 *
 * Reading a collection takes a thousand times as long as a question.  So a process keeps the
 * postings of collections that are stored out of line, up to qsketch.sets_cache in all (stored.h).
 * A collection is prepared at its second use, because a single question costs less without
 * preparing.
 *
 * A collection is recognized by its toast pointer.  The process outlives transactions, so the
 * pointer alone might one day name another value.  So the header, with its sizes and its checksum,
 * must be the same, too.
 */

typedef struct KeptSets
{
	StoredValue stored;
	uint8 header[QSET_HEADER_BYTES];
	PreparedSets *prepared; /* NULL: not kept */
} KeptSets;

/*
 * The default limit.  A prepared collection takes four to five times its stored bytes.  So the
 * default of 512 MB suits as many stored collections as PostgreSQL's default shared_buffers of 128
 * MB hold.  A question to a collection that is not prepared takes more than half as much memory
 * while it runs.
 */
static int limit_kb = 512 * 1024;

/* The collections that this process keeps; made at the first use. */
static StoredCache cache;
static bool limit_reported; /* the NOTICE about the present limit was sent */

void
SetsKeptInit(void)
{
	DefineCustomIntVariable(
		"qsketch.sets_cache",
		"Sets the memory in which a process keeps collections of sets prepared for qsets_similar.",
		"It applies from the next call of qsets_similar on; 0 keeps none.", &limit_kb, limit_kb, 0,
		MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
}

/* Read and prepare a collection, in a new child of the current memory context. */
static PreparedSets *
prepare(Datum collection)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "qsketch prepared sets", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	PreparedSets *prepared = palloc0(sizeof(PreparedSets));
	qset_collection copy;
	SetsReader reader;

	prepared->context = context;
	ContextMemory(context, &prepared->memory);
	SetsRead(&reader, collection);
	if (reader.expanded)
		SetsCheck(qset_collection_copy(&copy, reader.collection, &prepared->memory));
	else
	{
		copy = reader.view;
		copy.memory = &prepared->memory;
	}
	SetsCheck(qset_postings_make(&prepared->postings, &copy));
	MemoryContextSwitchTo(old);
	return prepared;
}

/*
 * Read the header of a stored collection without checking it; false: the collection is not stored
 * that way.
 */
static bool
read_header(Datum collection, uint8 *header)
{
	uint32 bytes = QSET_HEADER_BYTES;

	return StoredRead(collection, 0, &bytes, header);
}

/* Tell the user once that prepared collections would take this many bytes, unless the setting keeps none. */
static void
report_limit(Size bytes)
{
	if (limit_reported || limit_kb == 0 || IsParallelWorker())
		return;
	limit_reported = true;
	bytes = TYPEALIGN(bytes < 1024 * 1024 ? 1024 : 1024 * 1024, bytes);
	ereport(NOTICE,
			(errmsg("collection of sets does not stay prepared for the next query"),
			 errdetail("With it, prepared collections take %s, and qsketch.sets_cache is %s.",
					   TextOfSize(bytes), TextOfSize(cache.limit)),
			 errhint("Every query reads it as a whole, unless qsketch.sets_cache is %s or more.",
					 TextOfSize(bytes))));
}

/* Prepare a collection to be kept, if there is room. */
static void
keep(KeptSets *kept, Datum collection)
{
	qset_collection sizes;
	Size bytes;

	if (!read_header(collection, kept->header))
		return;
	qset_read_sizes(kept->header, &sizes);
	bytes = (Size) qset_postings_memory(&sizes);
	if (bytes > cache.limit || !StoredMayKeep(&cache, &kept->stored, bytes))
	{
		report_limit(bytes > cache.limit ? bytes : cache.bytes + bytes);
		return;
	}
	kept->prepared = prepare(collection);
	MemoryContextSetParent(kept->prepared->context, kept->stored.context);
	StoredKept(&cache, &kept->stored);
}

/*
 * The prepared collection, which stays until the next call.  NULL if it is not kept: it is not
 * stored out of line, was not used before, or is too large.
 */
static PreparedSets *
kept_of(Datum collection)
{
	Size limit = (Size) limit_kb * 1024;
	uint8 header[QSET_HEADER_BYTES];
	KeptSets *kept;

	if (cache.context == NULL)
		StoredInit(&cache, CacheMemoryContext, sizeof(KeptSets), 0);
	if (cache.limit != limit)
	{
		StoredSetLimit(&cache, limit);
		limit_reported = false;
	}
	kept = (KeptSets *) StoredFind(&cache, collection);
	if (kept == NULL)
		return NULL;
	if (kept->prepared &&
		(!read_header(collection, header) || memcmp(header, kept->header, sizeof(header)) != 0))
		StoredDrop(&cache, &kept->stored);
	if (kept->prepared == NULL && StoredAgain(&kept->stored))
		keep(kept, collection);
	return kept->prepared;
}

/* ---- questions ---- */

/* Positions of arguments. */
enum
{
	COLLECTION,
	ASKED,   /* id of a set, or elements */
	OPTIONS, /* min_count, min_jaccard and top */
	ORDER = OPTIONS + 3
};

/* What the calling expression keeps: the collection of the last call, and the type of its elements. */
typedef struct Expression
{
	KeyType elements;
	MemoryContext context; /* holds all that depends on the collection */
	bool seen;
	KnownValue known;       /* recognizes the collection, unless it was an expanded object */
	uint64 version;         /* version of an expanded object, or 0 */
	PreparedSets *prepared; /* NULL: not prepared yet */
} Expression;

static Expression *
expression_of(FunctionCallInfo fcinfo)
{
	FmgrInfo *function = fcinfo->flinfo;
	Expression *expression = function->fn_extra;

	if (expression == NULL)
	{
		expression = MemoryContextAllocZero(function->fn_mcxt, sizeof(Expression));
		expression->context =
			AllocSetContextCreate(function->fn_mcxt, "sets similar to one", ALLOCSET_DEFAULT_SIZES);
		function->fn_extra = expression;
	}
	return expression;
}

/* True if this call has the collection of the last call. */
static bool
is_same(const Expression *expression, Datum collection)
{
	SetsState *expanded = SetsStateIn(collection);

	if (!expression->seen)
		return false;
	if (expanded)
		return expression->version == SetsVersion(expanded);
	return KnownValueIs(&expression->known, collection);
}

/* Note the collection of this call. */
static void
note(Expression *expression, Datum collection)
{
	SetsState *expanded = SetsStateIn(collection);

	MemoryContextReset(expression->context);
	expression->version = expanded ? SetsVersion(expanded) : 0;
	expression->prepared = NULL;
	expression->seen = true;
	KnownValueNote(&expression->known, collection, expression->context, get_hash_memory_limit());
}

/* The prepared collection; NULL at the collection's first use. */
static PreparedSets *
prepared_of(Expression *expression, Datum collection)
{
	PreparedSets *kept = kept_of(collection);

	if (kept)
		return kept;
	if (!is_same(expression, collection))
		note(expression, collection);
	else if (expression->prepared == NULL)
	{
		expression->prepared = prepare(collection);
		MemoryContextSetParent(expression->prepared->context, expression->context);
	}
	return expression->prepared;
}

/* Ask for sets similar to a set of the collection; false: the collection has no such set. */
static bool
ask_for_set(FunctionCallInfo fcinfo, const qset_collection *c, qset_question *question)
{
	int64 set = qset_collection_find(c, PG_GETARG_INT64(ASKED));

	if (set < 0)
		return false;
	qset_question_of_set(question, c, (uint64) set);
	return true;
}

/* Find the ranks of the coded elements that the collection has. */
static void
find_ranks(const qset_collection *c, const qset_dictionary *dictionary, qset_question *question)
{
	uint32 *rank =
		MemoryContextAllocHuge(CurrentMemoryContext, Max(dictionary->used, 1) * sizeof(uint32));
	uint64 i;

	question->rank = rank;
	question->ranks = 0;
	for (i = 0; i < dictionary->used; i++)
	{
		int64 found =
			qset_collection_rank(c, dictionary->low[i], dictionary->wide ? dictionary->high[i] : 0);

		if (i % QSET_DICTIONARY_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		if (found >= 0)
			rank[question->ranks++] = (uint32) found;
	}
}

/* Ask for sets similar to given elements.  NULLs among them are no elements. */
static bool
ask_for_elements(FunctionCallInfo fcinfo, const qset_collection *c, qset_question *question)
{
	KeyType *type = &expression_of(fcinfo)->elements;
	qset_dictionary dictionary = { 0 };
	KeyArgument argument;
	ElementArray array;
	qb_memory memory;

	KeyArgumentOf(&argument, fcinfo, ASKED);
	KeyTypeChange(type, get_base_element_type(argument.type), argument.collation);
	ElementsTakeApart(&array, type, PG_GETARG_DATUM(ASKED));
	ElementsCode(type, &array, &dictionary, ContextMemory(CurrentMemoryContext, &memory));
	KeyCheckFits(&c->keys, type, &sets_key_holder);
	if (c->sets > 0)
		SetsCheckSame(&c->keys, c->wide, &type->keys, dictionary.wide);
	question->size = dictionary.used;
	question->itself = -1;
	find_ranks(c, &dictionary, question);
	return true;
}

/* Make a question of the second argument; false: there is nothing to ask for. */
typedef bool (*Ask)(FunctionCallInfo fcinfo, const qset_collection *c, qset_question *question);

static void
store(FunctionCallInfo fcinfo, const qset_collection *c, const qset_best *best)
{
	uint64 i;

	for (i = 0; i < best->count; i++)
	{
		const qset_pair *pair = &best->pair[i];
		double size = best->size;
		double other = qset_set_size(c, pair->b);
		double common = pair->common;
		Datum values[] = { Int64GetDatum(c->id[pair->b]), Int64GetDatum(pair->common),
						   Float8GetDatum(PairJaccard(pair)),
						   Float8GetDatum(common > 0 ? common / Min(size, other) : 0),
						   Float8GetDatum(common > 0 ? common * c->universe / size / other : 0) };

		CHECK_FOR_INTERRUPTS();
		PutRow(fcinfo, values, NULL);
	}
}

/* Answer the call's question.  The postings of a prepared collection are used. */
static void
answer(FunctionCallInfo fcinfo, Ask ask, const qset_collection *c, PreparedSets *prepared)
{
	qset_question question = { .most = MaxAllocSize / sizeof(qset_pair) };
	qset_best best;
	qb_memory memory;
	qb_status status;

	PairsFilter(fcinfo, OPTIONS, &question.filter);
	question.filter.order = PairsOrder(fcinfo, ORDER);
	if (!ask(fcinfo, c, &question))
		return;
	ContextMemory(CurrentMemoryContext, &memory);
	if (prepared)
		status = qset_postings_answer(&prepared->postings, &question, qset_kernels_now(), &best,
									  &memory);
	else
		status = qset_collection_answer(c, &question, &best, &memory);
	if (status == QB_NO_ROOM)
		SetsTooManyPairs(question.most);
	SetsCheck(status);
	store(fcinfo, c, &best);
}

static Datum
similar(FunctionCallInfo fcinfo, Ask ask)
{
	MemoryContext context;
	MemoryContext old;
	PreparedSets *prepared;
	SetsReader reader;

	ReturnRows(fcinfo);
	if (PG_ARGISNULL(COLLECTION) || PG_ARGISNULL(ASKED))
		return (Datum) 0;
	context = AllocSetContextCreate(CurrentMemoryContext, "similar sets", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	prepared = prepared_of(expression_of(fcinfo), PG_GETARG_DATUM(COLLECTION));
	if (prepared)
		answer(fcinfo, ask, &prepared->postings.collection, prepared);
	else
	{
		SetsRead(&reader, PG_GETARG_DATUM(COLLECTION));
		answer(fcinfo, ask, reader.collection, NULL);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return (Datum) 0;
}

/* A parameter whose type a client leaves open is text.  So a text with a number is taken for an id. */
static Datum
similar_to_text(FunctionCallInfo fcinfo)
{
	if (!PG_ARGISNULL(ASKED))
	{
		const char *given = text_to_cstring(PG_GETARG_TEXT_PP(ASKED));
		char *end;
		int64 id;

		errno = 0;
		id = strtoi64(given, &end, 10);
		if (end == given || *end != '\0' || errno != 0)
			return qsets_other_id(fcinfo);
		fcinfo->args[ASKED].value = Int64GetDatum(id);
	}
	return similar(fcinfo, ask_for_set);
}

/* qsets_similar(qsets, set_id, min_count, min_jaccard, top, order_by): the best first */
SQL_FUNCTION(qsets_similar, similar(fcinfo, ask_for_set));
SQL_FUNCTION(qsets_similar_text, similar_to_text(fcinfo));

/* qsets_similar(qsets, elements[], min_count, min_jaccard, top, order_by): the best first */
SQL_FUNCTION(qsets_similar_elements, similar(fcinfo, ask_for_elements));
