/*
 * top_question.h
 *		Declarations for qtop_exact: the question, and a sample of the table.
 *
 * src/pg/top_question.h
 */
#ifndef QS_PG_TOP_QUESTION_H
#define QS_PG_TOP_QUESTION_H

#include "postgres.h"

#include "gpu/column_gpu.h"
#include "pgbase/calls.h"
#include "pgbase/keytype.h"

/* A request for the n most frequent keys of a column. */
typedef struct TopQuestion
{
	Oid relation;
	char *table;             /* SQL text of the table in FROM, with the alias t */
	const char *name;        /* name of the column */
	char *column;            /* SQL text of the column, as t.column */
	const char *weight_name; /* name of the column of weights; NULL: rows are counted */
	char *weight;            /* SQL text of the column of weights; NULL: rows are counted */
	const char *measure;     /* SQL text of a key's count or weight */
	const char *having;      /* HAVING clause that keeps keys of positive weight, or empty */
	Oid type;                /* type of the column */
	Oid collation;
	bool number; /* keys are numbers, and their order is the order of the type */
	bool sorted; /* the type of the column has a default order */
	int32 n;
	int32 listed; /* number of keys that the list of candidates is made for */
} TopQuestion;

/*
 * Statistics of a sample of the table.  They do not include NULL keys, or keys whose weights sum to
 * 0 or less.
 */
typedef struct TopSample
{
	double percent; /* sampled percentage of the table's pages; 0: no sample */
	double rows;    /* number of sampled rows */
	double weight;  /* sum of the weights of these rows; "rows" if rows have no weights */
	double groups;  /* number of distinct keys in the sample */
	double single;  /* number of keys that only one row of the sample has */
	int64 nth;      /* count or weight of the n-th most frequent sampled key; 0: fewer keys */
	int64 usual; /* count or weight of the rarest sampled key that a list keeps; 0: all are kept */
} TopSample;

extern void
TopDescribe(TopQuestion *question, Oid relation, const char *column, const char *weight);
extern void TopCheckType(const TopQuestion *question, Oid named);
extern void TopCheckColumn(const TopQuestion *question, Oid found);
extern bool TopPushSnapshot(const TopQuestion *question);
extern void TopTakeSample(const TopQuestion *question, TopSample *sample);
extern double TopSampleTable(const TopSample *sample);
extern bool TopSampleWantsList(const TopQuestion *question, const TopSample *sample);
extern double TopSampleFraction(const TopQuestion *question, const TopSample *sample,
								const char *condition, ExtensionCall *call, ParamListInfo values);

/*
 * Set by src/scan.  Returns the n most frequent keys of the cached column, in the order of the
 * answer, and their number in *count.  NULL: the cached column cannot answer.
 */
extern GpuExactKey *(*TopExactFromCached)(const TopQuestion *question, int *count);

#endif
