/*
 * keyfamily.c
 *		Families of keys, as a value records them, by name and by type.
 *
 * A built-in hash operator family is recorded by its OID, any other one by a hash of its
 * name (said below).  Beside the OID stands how fingerprints are made, so that those of
 * another making are refused instead of compared.
 *
 * Users know types rather than families, so messages name the types whose default hash
 * operator class is in the family.  Most families have one type.  Three of the others have
 * a type that can hold the values of all their types: bigint, double precision and text.
 *
 * src/pgbase/keyfamily.c
 */
#include "pgbase/keyfamily.h"

#include "pgbase/value.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
#include "parser/parse_coerce.h"
#include "catalog/pg_collation_d.h"
#include "miscadmin.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"

#define NAMED_FAMILY UINT32_C(0x80000000)

/*
 * How fingerprints of a built-in family are made.  0: integers are their own fingerprint,
 * and strings are hashed; this never changed.
 */
#define MADE_OF_ALL  UINT32_C(0x10000) /* of all that = looks at: pgbase/keytype.h */
#define MADE_BY_TYPE UINT32_C(0x20000) /* by the hash function of a type of an extension */
#define MADE         UINT32_C(0xF0000)

/* The number that stands for the name of a family or collation. */
uint32
KeyNameId(const char *name)
{
	return hash_bytes((const unsigned char *) name, (int) strlen(name)) | NAMED_FAMILY;
}

/* Name of an operator family of the catalog, or NULL. */
static char *
opfamily_name(Oid opfamily)
{
	HeapTuple tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(opfamily));
	char *name = NULL;

	if (HeapTupleIsValid(tuple))
	{
		name = pstrdup(NameStr(((Form_pg_opfamily) GETSTRUCT(tuple))->opfname));
		ReleaseSysCache(tuple);
	}
	return name;
}

static uint32
making_of(Oid base_type)
{
	switch (base_type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
		case BYTEAOID:
		case UUIDOID:
		case INETOID:
		case CIDROID:
		case OIDVECTOROID:
		case ANYENUMOID:
			return 0;
		default:
			if (type_is_enum(base_type))
				return 0;
			if (base_type < FirstNormalObjectId || get_typtype(base_type) != TYPTYPE_BASE ||
				OidIsValid(get_element_type(base_type)))
				return MADE_OF_ALL;
			return MADE_BY_TYPE;
	}
}

/* What a value records for the operator family of a type that is not a domain. */
uint32
KeyFamilyId(Oid opfamily, Oid base_type)
{
	char *name;

	if (opfamily < FirstNormalObjectId)
		return opfamily | making_of(base_type);
	name = opfamily_name(opfamily);
	if (name == NULL)
		elog(ERROR, "cache lookup failed for operator family %u", opfamily);
	return KeyNameId(name);
}

/* The name of a hash family with this hash, or NULL; for messages. */
static char *
find_named_family(uint32 family)
{
	Relation catalog = table_open(OperatorFamilyRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	char *name = NULL;
	HeapTuple tuple;

	while (name == NULL && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_opfamily form = (Form_pg_opfamily) GETSTRUCT(tuple);

		if (form->opfmethod == HASH_AM_OID && KeyNameId(NameStr(form->opfname)) == family)
			name = pstrdup(NameStr(form->opfname));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return name;
}

/* Types whose default hash operator class is in the family, in the order of their OIDs. */
static List *
types_of(uint32 family)
{
	CatCList *classes = SearchSysCacheList1(CLAAMNAMENSP, ObjectIdGetDatum(HASH_AM_OID));
	List *types = NIL;
	int i;

	for (i = 0; i < classes->n_members; i++)
	{
		Form_pg_opclass form = (Form_pg_opclass) GETSTRUCT(&classes->members[i]->tuple);

		if (form->opcdefault && KeyFamilyId(form->opcfamily, form->opcintype) == family)
			types = lappend_oid(types, form->opcintype);
	}
	ReleaseSysCacheList(classes);
	list_sort(types, list_oid_cmp);
	return types;
}

/* Does a value record fingerprints of a built-in family that are made in a way which no type has? */
bool
KeyFamilyIsOther(uint32 family)
{
	return family != 0 && !(family & NAMED_FAMILY) && types_of(family) == NIL;
}

/* The name of the family that a value records; NULL if it has recorded none. */
char *
KeyFamilyName(uint32 family)
{
	char *name;

	if (family == 0)
		return NULL;
	name = family & NAMED_FAMILY ? find_named_family(family) : opfamily_name(family & ~MADE);
	if (name == NULL)
		return psprintf("unrecognized family %u", family);
	return KeyFamilyIsOther(family) ? psprintf("%s (other fingerprints)", name) : name;
}

bool
KeyFamilyHasType(uint32 family, Oid type)
{
	return list_member_oid(types_of(family), type);
}

/* The type that can hold the values of all types in the family, or InvalidOid. */
Oid
KeyFamilyType(uint32 family)
{
	static const Oid chosen[] = { INT8OID, FLOAT8OID, TEXTOID };
	List *types;
	int i;

	for (i = 0; i < lengthof(chosen); i++)
		if (KeyFamilyId(lookup_type_cache(chosen[i], TYPECACHE_HASH_OPFAMILY)->hash_opf,
						chosen[i]) == family)
			return chosen[i];
	types = types_of(family);
	if (list_length(types) != 1 || get_typtype(linitial_oid(types)) == TYPTYPE_PSEUDO)
		return InvalidOid;
	return linitial_oid(types);
}

/* What messages call keys of a type, also if it is one of many types of its family. */
static const char *
type_name(Oid type)
{
	switch (type)
	{
		case INT8OID:
			return "integer";
		case ANYARRAYOID:
			return "array";
		case ANYENUMOID:
			return "enum";
		case ANYRANGEOID:
			return "range";
		case ANYMULTIRANGEOID:
			return "multirange";
		default:
			return format_type_be(type);
	}
}

/* What messages call the keys of a family. */
char *
KeyFamilyTypes(uint32 family)
{
	Oid type = KeyFamilyType(family);
	List *types = OidIsValid(type) ? list_make1_oid(type) : types_of(family);
	StringInfoData text;
	ListCell *cell;

	if (types == NIL)
		return KeyFamilyName(family);
	initStringInfo(&text);
	foreach (cell, types)
		appendStringInfo(&text, "%s%s", text.len ? ", " : "", type_name(lfirst_oid(cell)));
	return text.data;
}

/* ---- errors when keys are not of the kind that a value holds ---- */

static bool
has_cast(Oid from, Oid to)
{
	Oid function;

	return find_coercion_pathway(to, from, COERCION_EXPLICIT, &function) != COERCION_PATH_NONE;
}

/* A hint: how to give the key the type of the keys that the value holds. */
static char *
cast_hint(uint32 family, const KeyType *key, const KeyHolder *holder)
{
	Oid wanted = KeyFamilyType(family);
	char *type;

	if (KeyFamilyHasType(family, RECORDOID))
		return pstrdup("Give a row of as many columns, as in ROW(1, 'a').");
	if (!OidIsValid(wanted))
		return KeyFamilyHasType(family, ANYARRAYOID)
				   ? psprintf("Use %s(%s, key), which takes an array as one key, and give an array "
							  "that has a type, as in '{1,2}'::integer[].",
							  holder->lookup, holder->one)
				   : psprintf("Cast the key to the type that the %s was built from.", holder->one);
	type = format_type_be(wanted);
	if (!has_cast(key->type, wanted))
		return psprintf("Give a key of type %s.", type);
	if (wanted == FLOAT8OID)
		return psprintf(
			"Cast the key to real or double precision, whichever the %s was built from: "
			"0.1 is not the same key in both.",
			holder->one);
	return psprintf("Cast the key to type %s.", type);
}

/* An error if another version has made fingerprints of keys of the family. */
void
KeyFamilyCheckMaking(uint32 family, const KeyHolder *holder)
{
	if (KeyFamilyIsOther(family))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("%s has keys of %s", holder->one, KeyFamilyName(family)),
						errhint("Another version of the extension hashed these keys. Build the %s "
								"anew from its rows.",
								holder->one)));
}

static void
raise_mismatch(uint32 family, const KeyType *key, const KeyHolder *holder)
{
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("cannot use a key of type %s with a %s of %s keys",
						   format_type_be(key->type), holder->one, KeyFamilyTypes(family)),
					errhint("%s", cast_hint(family, key, holder))));
}

/* An error for arrays, ranges or rows that contain other types. */
static void
raise_other_content(const KeyType *key, const KeyHolder *holder)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_DATATYPE_MISMATCH),
		 errmsg("cannot use a key of type %s with a %s of %s keys that contain other types",
				format_type_be(key->type), holder->one, KeyFamilyTypes(key->keys.family)),
		 errhint("Cast the key, or the columns of a row, to the types that the %s was built from.",
				 holder->one)));
}

/* Raise an error unless the value that holds "held" takes such keys. */
void
KeyFamilyCheckProbe(const qb_keys *held, const KeyType *key, const KeyHolder *holder)
{
	if (KeyFits(key, held))
		return;
	KeyFamilyCheckMaking(held->family, holder);
	if (held->family != key->keys.family)
		raise_mismatch(held->family, key, holder);
	if (KeyIsContent(held->collation) || KeyIsContent(key->keys.collation))
		raise_other_content(key, holder);
	ereport(ERROR,
			(errcode(ERRCODE_COLLATION_MISMATCH),
			 errmsg("%s was built under another collation than the key has", holder->one),
			 errhint("Nondeterministic collations decide which strings are equal; use COLLATE to "
					 "give the key the collation of the %s.",
					 holder->one)));
}

/* Raise an error unless two values hold the same kind of keys, or one of them holds none. */
void
KeyFamilyCheckSame(const qb_keys *a, const qb_keys *b, const KeyHolder *holder)
{
	if (qb_keys_none(a) || qb_keys_none(b))
		return;
	if (a->family != b->family)
	{
		KeyFamilyCheckMaking(a->family, holder);
		KeyFamilyCheckMaking(b->family, holder);
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("%s differ: %s keys and %s keys", holder->many,
							   KeyFamilyTypes(a->family), KeyFamilyTypes(b->family)),
						errhint("Cast the keys to one type where these are built.")));
	}
	if (a->collation == b->collation)
		return;
	if (KeyIsContent(a->collation) || KeyIsContent(b->collation))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s differ: %s keys that contain different types", holder->many,
						KeyFamilyTypes(a->family)),
				 errhint("Cast what the keys contain to the same types where these are built.")));
	ereport(ERROR, (errcode(ERRCODE_COLLATION_MISMATCH),
					errmsg("%s were built under different collations", holder->many),
					errhint("Give the keys the same COLLATE where these are built.")));
}

/*
 * ---- what a value records about its keys ----
 *
 * Fingerprints can be compared if two things are the same:
 *
 *	family		the hash operator family.  Within a family equal values of
 *				different types hash alike (integer_ops, float_ops); between
 *				families they need not.  Built-in families are recorded by
 *				their OID, which never changes; others by a hash of their name,
 *				since their OIDs do not survive dump and restore.  char(n) keys
 *				are recorded as text without trailing blanks, which is what a
 *				function declared for text would get.
 *	collation	a hash of the collation's name, only for nondeterministic ones:
 *				only these change which strings are equal.  For arrays, ranges
 *				and rows it is a hash of what they contain.
 *
 * All arrays share one hash operator family, all ranges another, all rows a third.  So
 * the family does not say which of their keys can be compared; their content does.  The
 * content is the families and collations of the elements or columns, in their order.  A
 * value records a hash of the content in place of a collation, which a container does
 * not have.  So arrays of int and of bigint are one kind of keys, since their elements
 * are, and arrays of text are another kind.
 */

/* The bits of a content hash below its mark. */
#define CONTENT_BITS (KEY_CONTENT - 1)

/* The content of a container that holds these kinds of keys. */
static uint32
content_id(const qb_keys *keys, int count)
{
	uint32 hash = hash_bytes((const unsigned char *) keys, count * (int) sizeof(qb_keys));

	return (hash & CONTENT_BITS) | KEY_CONTENT;
}

static uint32
content_of(Oid type, Oid collation)
{
	qb_keys keys = KeysOf(type, collation);

	return content_id(&keys, 1);
}

/* The content of rows with such columns.  A literal without a type counts as text. */
uint32
KeyColumnsContent(TupleDesc descriptor)
{
	qb_keys *keys = palloc0(Max(descriptor->natts, 1) * sizeof(qb_keys));
	uint32 content;
	int count = 0;
	int i;

	/* rows can be nested to any depth, and each level may double the number of columns */
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(descriptor, i);

		if (column->attisdropped)
			continue;
		keys[count++] = column->atttypid == UNKNOWNOID
							? KeysOf(TEXTOID, DEFAULT_COLLATION_OID)
							: KeysOf(column->atttypid, column->attcollation);
	}
	content = content_id(keys, count);
	pfree(keys);
	return content;
}

/* The content of rows of a type.  For record the typmod says which row type it is. */
uint32
KeyRowContent(Oid type, int32 typmod)
{
	TupleDesc descriptor = lookup_rowtype_tupdesc(type, typmod);
	uint32 content = KeyColumnsContent(descriptor);

	ReleaseTupleDesc(descriptor);
	return content;
}

/*
 * The content of keys of a type that is not a domain. 0: they contain nothing, or their
 * content is not known.
 */
static uint32
content_of_type(Oid base_type, Oid collation)
{
	Oid element = get_element_type(base_type);
	Oid range = type_is_multirange(base_type) ? get_multirange_range(base_type) : base_type;

	if (OidIsValid(element))
		return content_of(element, collation);
	if (type_is_range(range))
		return content_of(get_range_subtype(range), get_range_collation(range));
	if (base_type != RECORDOID && type_is_rowtype(base_type))
		return KeyRowContent(base_type, -1);
	return 0;
}

static uint32
family_of(Oid base_type, const TypeCacheEntry *entry)
{
	if (base_type == BPCHAROID)
		entry = lookup_type_cache(TEXTOID, TYPECACHE_HASH_OPFAMILY);
	return KeyFamilyId(entry->hash_opf, base_type);
}

static uint32
collation_id(Oid collation)
{
	if (!OidIsValid(collation) || get_collation_isdeterministic(collation))
		return 0;
	return KeyNameId(get_collation_name(collation));
}

/* What a value records about keys of a type.  The type need not have a hash function. */
qb_keys
KeysOf(Oid type, Oid collation)
{
	Oid base_type = getBaseType(type);
	qb_keys keys;

	keys.family = family_of(base_type, lookup_type_cache(base_type, TYPECACHE_HASH_OPFAMILY));
	keys.collation = content_of_type(base_type, collation);
	if (keys.collation == 0)
		keys.collation = collation_id(collation);
	return keys;
}

/*
 * ---- what the expression of a call says about its key ----
 *
 * Our functions of keys are declared for keys of any type.  So only the call shows the
 * type of its key:
 *
 *	functions, aggregates	fn_expr in the FmgrInfo
 *	wrapped aggregates		an aggregate of others may call ours with its own Aggref
 *							in the context, and without fn_expr (Citus does so in
 *							worker_partial_agg).  The key is the last argument of
 *							that Aggref.  If ours takes more than a key, the last
 *							argument is a row of our arguments, and the key is a
 *							field of it.  Such a call has no collation for the key,
 *							since a row has none.
 *
 * Expressions are examined once for a state or an FmgrInfo, never for each row.
 */

/* A transition function has at least two arguments: a state and a key. */
#define STATE_AND_KEY 2

/* The i-th argument of an aggregate, without arguments that only ORDER BY uses. */
static const Node *
aggregate_argument(const Aggref *aggref, int i)
{
	const TargetEntry *entry;

	if (i < 0 || i >= list_length(aggref->args))
		return NULL;
	entry = list_nth_node(TargetEntry, aggref->args, i);
	return entry->resjunk ? NULL : (const Node *) entry->expr;
}

/*
 * Is this function the aggregate's transition function, in one of its forms?  The query may have
 * dropped the aggregate, which is then taken for its own.
 */
static bool
is_transition_of(Oid function, Oid aggregate)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;
	bool is;

	if (!HeapTupleIsValid(tuple))
		return true;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	is = form->aggtransfn == function || form->aggmtransfn == function ||
		 form->aggminvtransfn == function;
	ReleaseSysCache(tuple);
	return is;
}

/* The key in the arguments of an aggregate that wraps ours, or NULL. */
static const Node *
wrapped_key(const Aggref *wrapper, Oid transition, int argument)
{
	const Node *last = aggregate_argument(wrapper, list_length(wrapper->aggargtypes) - 1);

	if (get_func_nargs(transition) == STATE_AND_KEY)
		return last;
	if (last == NULL || !IsA(last, RowExpr) ||
		argument > list_length(((const RowExpr *) last)->args))
		return NULL;
	return list_nth(((const RowExpr *) last)->args, argument - 1);
}

/* The expression of the key if another aggregate wraps ours, or NULL. */
static const Node *
key_of_wrapper(FunctionCallInfo fcinfo, int argument)
{
	const Aggref *aggref = AggGetAggref(fcinfo);

	if (aggref == NULL || is_transition_of(fcinfo->flinfo->fn_oid, aggref->aggfnoid))
		return NULL;
	return wrapped_key(aggref, fcinfo->flinfo->fn_oid, argument);
}

/* The expression of an argument of a function outside aggregates, or NULL. */
static const Node *
function_argument(FunctionCallInfo fcinfo, int argument)
{
	const FuncExpr *call = (const FuncExpr *) fcinfo->flinfo->fn_expr;

	if (call == NULL || !IsA(call, FuncExpr) || argument >= list_length(call->args))
		return NULL;
	return list_nth(call->args, argument);
}

/* Is the argument a constant or a parameter of the query? */
bool
KeyIsLiteral(FunctionCallInfo fcinfo, int argument)
{
	const Node *expr = function_argument(fcinfo, argument);

	while (expr && IsA(expr, RelabelType))
		expr = (const Node *) ((const RelabelType *) expr)->arg;
	return expr && (IsA(expr, Const) ||
					(IsA(expr, Param) && ((const Param *) expr)->paramkind == PARAM_EXTERN));
}

/* The declared type of an argument, unless that is polymorphic. */
static Oid
declared_type(Oid function, int argument)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	Oid type;

	if (!HeapTupleIsValid(tuple))
		FunctionIsMissing(function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	if (argument >= form->pronargs)
		elog(ERROR, "function %u has no argument %d", function, argument);
	type = form->proargtypes.values[argument];
	ReleaseSysCache(tuple);
	return IsPolymorphicType(type) ? InvalidOid : type;
}

/*
 * Type of an argument: that in the call, which the parser has made the declared one; the
 * declared one if the call has none.  InvalidOid: nothing says it.  The catalog comes second,
 * since a query can drop a function and go on calling it.
 */
static Oid
argument_type(FmgrInfo *flinfo, int argument)
{
	Oid type = get_fn_expr_argtype(flinfo, argument);

	return OidIsValid(type) ? type : declared_type(flinfo->fn_oid, argument);
}

/* Fill in the type and collation that a call from a wrapping aggregate lacks. */
static void
learn_from_wrapper(KeyArgument *key, const Node *expr)
{
	if (!OidIsValid(key->type))
		key->type = exprType(expr);
	if (!OidIsValid(key->collation) && exprType(expr) == key->type && type_is_collatable(key->type))
		key->collation = exprCollation(expr);
}

/* Everything that the call says about its key argument. */
void
KeyArgumentOf(KeyArgument *key, FunctionCallInfo fcinfo, int argument)
{
	int context = AggCheckCallContext(fcinfo, NULL);
	const Node *wrapped;

	key->type = argument_type(fcinfo->flinfo, argument);
	key->collation = PG_GET_COLLATION();
	wrapped = context == AGG_CONTEXT_AGGREGATE ? key_of_wrapper(fcinfo, argument) : NULL;
	if (wrapped)
		learn_from_wrapper(key, wrapped);
	if (!OidIsValid(key->type))
		ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE),
						errmsg("could not determine the type of the keys")));
	key->literal = !context && key->type == TEXTOID && KeyIsLiteral(fcinfo, argument);
}

void
KeyTypeOfArgument(KeyType *key, FunctionCallInfo fcinfo, int argument)
{
	KeyArgument own;

	KeyArgumentOf(&own, fcinfo, argument);
	KeyTypeInit(key, own.type, own.collation);
	KeyTypeLearn(key, PG_GETARG_DATUM(argument));
}
