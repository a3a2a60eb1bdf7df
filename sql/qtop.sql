--
-- Lists of the most frequent keys: the type
--

--@ use flat.sql TYPE=qtop NOUN=list NOUNS=lists
COMMENT ON TYPE qtop IS 'sketch of keys, with the most frequent keys';

-- Without a template the sketch is qsketch_new().
CREATE FUNCTION qtop_new(n integer, template qsketch DEFAULT @EMPTY@) RETURNS qtop
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qtop_new(integer, qsketch) IS 'empty list for the n most frequent keys';

CREATE FUNCTION qtop_merge(top qtop, other qtop) RETURNS qtop
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION qtop_merge(qtop, qtop) IS 'most frequent keys of both lists';

CREATE OPERATOR || (
	LEFTARG = qtop, RIGHTARG = qtop, FUNCTION = qtop_merge, COMMUTATOR = ||
);
COMMENT ON OPERATOR || (qtop, qtop) IS 'merge';

CREATE FUNCTION qtop_subtract(top qtop, other qtop) RETURNS qtop
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION qtop_subtract(qtop, qtop)
	IS 'list of the keys of the first list without the keys of the second';

CREATE OPERATOR - (
	LEFTARG = qtop, RIGHTARG = qtop, FUNCTION = qtop_subtract
);
COMMENT ON OPERATOR - (qtop, qtop) IS 'subtract';

CREATE FUNCTION qtop_fold(top qtop, n integer, size text DEFAULT NULL) RETURNS qtop
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION qtop_fold(qtop, integer, text)
	IS 'list for fewer keys, with a sketch of the same or of a smaller size';

CREATE FUNCTION qtop_sketch(top qtop) RETURNS qsketch
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qtop_sketch(qtop) IS 'sketch of all keys';

CREATE FUNCTION qtop_list(top qtop, n integer, key_type anyelement,
	OUT key anyelement, OUT estimate bigint, OUT lower bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION qtop_list(qtop, integer, anyelement)
	IS 'the n most frequent keys, how often each occurred at most, and how often at least';

CREATE FUNCTION qtop_list(top qtop, key_type anyelement,
	OUT key anyelement, OUT estimate bigint, OUT lower bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION qtop_list(qtop, anyelement)
	IS 'the most frequent keys, how often each occurred at most, and how often at least';

CREATE FUNCTION qtop_text(top qtop, OUT key text, OUT estimate bigint, OUT lower bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION qtop_text(qtop)
	IS 'the most frequent keys as text, how often each occurred at most, and how often at least';

CREATE FUNCTION qtop_text(top qtop, n integer, OUT key text, OUT estimate bigint, OUT lower bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION qtop_text(qtop, integer)
	IS 'the n most frequent keys as text, how often each occurred at most, and how often at least';

CREATE FUNCTION qtop_growth(top qtop, earlier_top qtop, n integer, OUT key text, OUT later bigint, OUT earlier bigint,
	OUT growth bigint, OUT lower bigint, OUT upper bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION qtop_growth(qtop, qtop, integer)
	IS 'the n keys as text whose counts grew most from one list to another, and by how much at least and at most';

CREATE FUNCTION qtop_growth(top qtop, earlier_top qtop, n integer, key_type anyelement,
	OUT key anyelement, OUT later bigint, OUT earlier bigint, OUT growth bigint, OUT lower bigint, OUT upper bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION qtop_growth(qtop, qtop, integer, anyelement)
	IS 'the n keys whose counts grew most from one list to another, and by how much at least and at most';

CREATE FUNCTION qtop_total(top qtop) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qtop_total(qtop) IS 'sum of all weights';

CREATE FUNCTION qtop_distinct(top qtop, OUT estimate double precision, OUT standard_error double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qtop_distinct(qtop)
	IS 'number of distinct keys with its standard error; NULL if the sketch is too full to tell';

CREATE FUNCTION qtop_info(top qtop, OUT n integer, OUT candidates bigint, OUT bound bigint,
	OUT total bigint, OUT key_family text)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qtop_info(qtop)
	IS 'parameters of a list, its candidates, and how often any other key occurred at most';

CREATE FUNCTION qtop_exact("table" regclass, "column" name, n integer, OUT key text, OUT count bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 20 COST 1000000;
COMMENT ON FUNCTION qtop_exact(regclass, name, integer)
	IS 'the n most frequent keys of a column as text, with their exact counts';

CREATE FUNCTION qtop_exact("table" regclass, "column" name, n integer, key_type anyelement,
	OUT key anyelement, OUT count bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 20 COST 1000000;
COMMENT ON FUNCTION qtop_exact(regclass, name, integer, anyelement)
	IS 'the n most frequent keys of a column, with their exact counts';

-- The weight is a cstring because no type is cast to cstring implicitly.  So with NULL::text or
-- NULL::name as fourth argument, PostgreSQL chooses the function with key_type.
CREATE FUNCTION qtop_exact("table" regclass, "column" name, n integer, weight cstring,
	OUT key text, OUT total bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'qtop_exact_weight' LANGUAGE C STABLE PARALLEL RESTRICTED
	ROWS 20 COST 1000000;
COMMENT ON FUNCTION qtop_exact(regclass, name, integer, cstring)
	IS 'the n keys of a column with the largest weights as text, with their exact sums';

CREATE FUNCTION qtop_exact("table" regclass, "column" name, n integer, key_type anyelement, weight name,
	OUT key anyelement, OUT total bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'qtop_exact_weight' LANGUAGE C STABLE PARALLEL RESTRICTED
	ROWS 20 COST 1000000;
COMMENT ON FUNCTION qtop_exact(regclass, name, integer, anyelement, name)
	IS 'the n keys of a column with the largest weights, with their exact sums';

--
-- Aggregates
--

CREATE FUNCTION _qtop_agg_combine(qtop, qtop) RETURNS qtop
	AS 'MODULE_PATHNAME', 'qtop_agg_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT _qsketch_combine_support;
COMMENT ON FUNCTION _qtop_agg_combine(qtop, qtop) IS 'aggregate support';

CREATE AGGREGATE qtop_merge_agg(top qtop) (
	STYPE = qtop, SSPACE = 65536, SFUNC = _qtop_merge_trans,
	COMBINEFUNC = _qtop_merge_trans, FINALFUNC = _qtop_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE qtop_merge_agg(qtop) IS 'most frequent keys of all lists';

--
-- Functions of list and key.  A key may be of any type, as for sketches.
--

--@ each KEYS|NAMED|SUFFIX|WHAT
--@ of anycompatible, bigint|key anycompatible, n bigint||the n most frequent keys, with a sketch of all keys
--@ of anycompatible, integer, qsketch|key anycompatible, n integer, template qsketch|_template|the n most frequent keys, with a sketch of all keys that has the parameters of a template
--@ of anycompatible, bigint, integer|key anycompatible, weight bigint, n integer|_weight|the n keys with the largest weights, with a sketch of all keys
--@ of anycompatible, bigint, integer, qsketch|key anycompatible, weight bigint, n integer, template qsketch|_weight_template|the n keys with the largest weights, with a sketch of all keys that has the parameters of a template
CREATE FUNCTION _qtop_agg_trans(qtop, @KEYS@) RETURNS qtop
	AS 'MODULE_PATHNAME', 'qtop_agg_trans@SUFFIX@' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT _qtop_support;
COMMENT ON FUNCTION _qtop_agg_trans(qtop, @KEYS@) IS 'aggregate support';

CREATE AGGREGATE qtop_agg(@NAMED@) (
	STYPE = qtop, SSPACE = 4096, SFUNC = _qtop_agg_trans,
	COMBINEFUNC = _qtop_agg_combine, FINALFUNC = _qtop_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE qtop_agg(@KEYS@) IS '@WHAT@';

--@ end
-- Raises an error that names the missing argument, instead of the error that no such function
-- exists.
CREATE FUNCTION _qtop_agg_trans(qtop, anycompatible) RETURNS qtop
	AS 'MODULE_PATHNAME', 'qtop_agg_without_n' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _qtop_agg_trans(qtop, anycompatible) IS 'aggregate support';

CREATE AGGREGATE qtop_agg(key anycompatible) (
	STYPE = qtop, SSPACE = 4096, SFUNC = _qtop_agg_trans,
	COMBINEFUNC = _qtop_agg_combine, FINALFUNC = _qtop_agg_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE qtop_agg(anycompatible) IS 'an error: the number of keys is missing';

CREATE FUNCTION qtop_list(top qtop, OUT key text, OUT estimate bigint, OUT lower bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'qtop_list_without_type' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION qtop_list(qtop) IS 'an error: the type of the keys is missing';

-- Lets functions of sketches also accept lists.
CREATE CAST (qtop AS qsketch) WITH FUNCTION qtop_sketch(qtop) AS IMPLICIT;

CREATE FUNCTION qtop_has(top qtop, key anycompatible) RETURNS boolean
	AS 'MODULE_PATHNAME', 'qtop_has' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qtop_has(qtop, anycompatible) IS 'is a key among the candidates?';

CREATE FUNCTION qtop_estimate(top qtop, key anycompatible) RETURNS bigint
	AS 'MODULE_PATHNAME', 'qtop_estimate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qtop_estimate(qtop, anycompatible) IS 'how often did a key occur, at most?';

CREATE FUNCTION qtop_bounds(top qtop, key anycompatible, OUT lower bigint, OUT upper bigint)
	AS 'MODULE_PATHNAME', 'qtop_bounds' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qtop_bounds(qtop, anycompatible)
	IS 'how often did a key occur, at least and at most?';

CREATE FUNCTION qtop_add(top qtop, key anycompatible) RETURNS qtop
	AS 'MODULE_PATHNAME', 'qtop_add' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT _qsketch_modify_support;
COMMENT ON FUNCTION qtop_add(qtop, anycompatible) IS 'list with a key added';

CREATE FUNCTION qtop_add(top qtop, key anycompatible, weight bigint) RETURNS qtop
	AS 'MODULE_PATHNAME', 'qtop_add' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT _qsketch_modify_support;
COMMENT ON FUNCTION qtop_add(qtop, anycompatible, bigint) IS 'list with a weighted key added';

CREATE FUNCTION qtop_remove(top qtop, key anycompatible) RETURNS qtop
	AS 'MODULE_PATHNAME', 'qtop_remove' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION qtop_remove(qtop, anycompatible) IS 'list with a key removed';

CREATE FUNCTION qtop_remove(top qtop, key anycompatible, weight bigint) RETURNS qtop
	AS 'MODULE_PATHNAME', 'qtop_remove' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION qtop_remove(qtop, anycompatible, bigint) IS 'list with a weight of a key removed';

