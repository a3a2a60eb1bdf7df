/*
 * top_exact.h
 *		What the files of qtop_exact share.
 *
 * src/pg/top_exact.h
 */
#ifndef QS_PG_SKETCH_TOP_EXACT_H
#define QS_PG_SKETCH_TOP_EXACT_H

#include "postgres.h"

#include "pgbase/calls.h"
#include "pgbase/keytype.h"

/* The n most frequent keys of which column. */
typedef struct TopQuestion
{
	Oid relation;
	char *table;      /* an item of FROM, named t, as SQL writes it */
	const char *name; /* of the column */
	char *column;     /* of t, as SQL writes it */
	Oid type;         /* of the column */
	Oid collation;
	bool integer; /* fingerprints are the keys themselves */
	bool sorted;  /* keys have an order */
	int32 n;
	int32 listed; /* for so many keys is the list */
} TopQuestion;

/* What a sample of the table tells. */
typedef struct TopSample
{
	double percent; /* of the pages; 0: there is no sample */
	double rows;    /* of the sample, without NULLs; */
	double groups;  /* different keys in them, */
	double single;  /* those that were seen once, */
	int64 nth;      /* how often the n-th most frequent one was seen, */
	int64 usual;    /* and the one behind all that a list would keep */
} TopSample;

/* top_question.c */
extern void TopDescribe(TopQuestion *question, Oid relation, const char *column);
extern void TopCheckType(const TopQuestion *question, Oid named);
extern void TopCheckColumn(const TopQuestion *question, Oid found);

/* top_sample.c */
extern void TopTakeSample(const TopQuestion *question, TopSample *sample);
extern double TopSampleTable(const TopSample *sample);
extern bool TopSampleWantsList(const TopQuestion *question, const TopSample *sample);
extern double TopSampleShare(const TopQuestion *question, const TopSample *sample,
							 const char *condition, OwnCall *call, ParamListInfo values);

#endif
