/*
 * top_question.h
 *		What the files of qtop_exact share.
 *
 * src/pg/top_question.h
 */
#ifndef QS_PG_TOP_QUESTION_H
#define QS_PG_TOP_QUESTION_H

#include "postgres.h"

#include "gpu/column_gpu.h"
#include "pgbase/calls.h"
#include "pgbase/keytype.h"

/* The n most frequent keys of a column. */
typedef struct TopQuestion
{
	Oid relation;
	char *table;             /* an item of FROM, named t, as SQL writes it */
	const char *name;        /* name of the column */
	char *column;            /* column of t, as SQL writes it */
	const char *weight_name; /* name of the column of weights; NULL: rows are counted */
	char *weight;            /* that column as a column of t, as SQL writes it */
	const char *measure;     /* a key's count or weight, as SQL writes it */
	const char *having;      /* condition for the keys that have a weight, as SQL writes it */
	Oid type;                /* type of the column */
	Oid collation;
	bool number; /* fingerprints are the keys themselves, and have their order */
	bool sorted; /* the type of the keys has an order */
	int32 n;
	int32 listed; /* number of keys that the list is made for */
} TopQuestion;

/* What a sample of the table shows. */
typedef struct TopSample
{
	double percent; /* the sample's fraction of the pages; 0: there is no sample */
	double rows;    /* rows of the sample without NULLs */
	double weight;  /* sum of these rows' weights; without weights the same as "rows" */
	double groups;  /* distinct keys in the sample */
	double single;  /* keys that occur once in the sample */
	int64 nth;      /* count or weight of its n-th key */
	int64 usual;    /* count or weight of the first key that a list would not keep */
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
 * Set by src/scan.  Returns the n most frequent keys from the cached column, in the order of the
 * answer; NULL: they have to be found without the cached column.
 */
extern GpuExactKey *(*TopExactFromCached)(const TopQuestion *question, int *count);

#endif
