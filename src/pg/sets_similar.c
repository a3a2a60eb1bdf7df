/*
 * sets_similar.c
 *		qsets_similar: the sets of a collection that are most similar to a set or to elements.
 *
 * The first call for a collection reads it and checks all of its sets.  The second call prepares
 * the collection, and later calls use the prepared collection.  The process keeps a prepared
 * stored collection.  The calling expression keeps a prepared collection that is not stored, or
 * that does not fit into the process's cache.
 *
 * The calling expression recognizes the collection of its last call.  A stored collection is
 * recognized by its toast pointer, and an expanded object by its version number.  Any other
 * collection is recognized by its bytes.  The expression keeps a copy of these bytes, unless they
 * exceed the memory limit of a hash table.
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

/* A prepared collection. */
typedef struct PreparedSets
{
	MemoryContext context; /* contains the prepared collection and nothing else */
	qb_memory memory;      /* allocates in "context" */
	qset_postings postings;
} PreparedSets;

/*
 * ---- prepared collections that a process keeps from query to query ----
 *
 * Reading a large collection takes hundreds of times as long as answering a question from its
 * postings.  So a process keeps the postings of collections that are stored out of line.
 * qsketch.sets_cache limits their total memory (stored.h).  A collection is prepared at its second
 * use, because a single question is cheaper without preparation.
 *
 * A collection is recognized by its toast pointer.  After a transaction has ended, PostgreSQL may
 * reuse a toast pointer for another value.  So the header, which has sizes and a checksum, must
 * also be equal.
 */

typedef struct KeptSets
{
	StoredValue stored;
	uint8 header[QSET_HEADER_BYTES];
	PreparedSets *prepared; /* NULL: the collection is not prepared */
} KeptSets;

/*
 * The setting qsketch.sets_cache, in kB.  A prepared collection takes four to five times its stored
 * bytes.  So the default of 512 MB suffices for stored collections of about 110 MB in all.  A
 * question to an unprepared collection needs more than half of the memory that the prepared
 * collection would take.
 */
static int limit_kb = 512 * 1024;

static StoredCache cache;   /* the process's KeptSets; initialized by kept_of() */
static bool limit_reported; /* report_limit() has sent a NOTICE for the current limit */

void
SetsKeptInit(void)
{
	DefineCustomIntVariable(
		"qsketch.sets_cache",
		"Sets the memory in which a process keeps collections of sets prepared for qsets_similar.",
		"It applies from the next call of qsets_similar on; 0 keeps none.", &limit_kb, limit_kb, 0,
		MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
}

/* Read and prepare a collection in a new context, a child of the current memory context. */
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
 * Read the header of a collection that is stored out of line, without checking the header.  False:
 * the header cannot be read.
 */
static bool
read_header(Datum collection, uint8 *header)
{
	uint32 bytes = QSET_HEADER_BYTES;

	return StoredRead(collection, 0, &bytes, header);
}

/*
 * Send a NOTICE that prepared collections would take this many bytes.  The NOTICE is sent once for
 * each limit, but not for the limit 0, and not by a parallel worker.
 */
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

/* Prepare and keep a collection, if it fits into the cache (StoredMayKeep()). */
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
 * Return a collection that the process keeps prepared, which is valid until the next call.  NULL:
 * the collection is not stored out of line, is used for the first time, or does not fit into the
 * cache.
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

/* Positions of the arguments of qsets_similar. */
enum
{
	COLLECTION,
	ASKED,   /* id of a set, or elements */
	OPTIONS, /* min_count, min_jaccard and top */
	ORDER = OPTIONS + 3
};

/* The state of a calling expression, in its fn_extra. */
typedef struct Expression
{
	KeyType elements;       /* type of the elements in the second argument */
	MemoryContext context;  /* contains "known" and "prepared" */
	bool seen;              /* an earlier call has set the members below */
	KnownValue known;       /* identifies the last call's collection unless it was expanded */
	uint64 version;         /* version of the last call's expanded object, or 0 */
	PreparedSets *prepared; /* the last call's collection; NULL: not prepared yet */
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

/* True if the collection is the collection of the last call. */
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

/* Record this call's collection, and free the last call's collection. */
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

/* Return the prepared collection, from the process or the expression; NULL: not prepared yet. */
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

/* Make a question for sets similar to a set of the collection; false: no set has this id. */
static bool
ask_for_set(FunctionCallInfo fcinfo, const qset_collection *c, qset_question *question)
{
	int64 set = qset_collection_find(c, PG_GETARG_INT64(ASKED));

	if (set < 0)
		return false;
	qset_question_of_set(question, c, (uint64) set);
	return true;
}

/*
 * Look up the dictionary's elements in the collection, and set question->rank to the ranks found.
 */
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

/* Make a question for sets similar to an array of elements.  NULLs in the array are ignored. */
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

/* Makes a question from the second argument; false: the result has no rows. */
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

/* Answer the question of a call, from "prepared" unless it is NULL, and store the result's rows. */
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

/* qsets_similar with an id of type text, the type of untyped parameters.  Ids must be numbers. */
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

/* qsets_similar(qsets, set_id, min_count, min_jaccard, top, order_by): a row per similar set */
SQL_FUNCTION(qsets_similar, similar(fcinfo, ask_for_set));
SQL_FUNCTION(qsets_similar_text, similar_to_text(fcinfo));

/* qsets_similar(qsets, elements[], min_count, min_jaccard, top, order_by): a row per similar set */
SQL_FUNCTION(qsets_similar_elements, similar(fcinfo, ask_for_elements));
