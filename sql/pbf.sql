--
-- Probabilistic Bloom filters: the type
--

--@ use flat.sql TYPE=pbf NOUN=filter NOUNS=filters
COMMENT ON TYPE pbf IS 'probabilistic Bloom filter of keys';

--
-- Construction
--

CREATE FUNCTION pbf_new(
	rows bigint, frequency bigint, error double precision DEFAULT 0.1,
	preset text DEFAULT 'balanced', k integer DEFAULT NULL, seed bigint DEFAULT 0) RETURNS pbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_new(bigint, bigint, double precision, text, integer, bigint)
	IS 'empty filter that tells frequencies, the template of aggregates';

CREATE FUNCTION pbf_new_bloom(
	keys bigint, false_positive_rate double precision DEFAULT 0.01, seed bigint DEFAULT 0,
	layout text DEFAULT 'blocked') RETURNS pbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_new_bloom(bigint, double precision, bigint, text)
	IS 'empty Bloom filter, the template of aggregates';

--
-- Functions of one and two filters
--

CREATE FUNCTION pbf_merge(pbf, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_merge(pbf, pbf) IS 'filter of the rows of both';

CREATE OPERATOR | (
	LEFTARG = pbf, RIGHTARG = pbf, FUNCTION = pbf_merge, COMMUTATOR = |
);
COMMENT ON OPERATOR | (pbf, pbf) IS 'merge';

CREATE FUNCTION pbf_fold(pbf, halvings integer DEFAULT 1) RETURNS pbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_fold(pbf, integer) IS 'filter of the same rows in half of the bits';

CREATE FUNCTION pbf_fill(pbf) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_fill(pbf) IS 'share of set bits';

CREATE FUNCTION pbf_distinct(pbf) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_distinct(pbf) IS 'about how many distinct keys are in a Bloom filter';

CREATE FUNCTION pbf_info(
	pbf,
	OUT bits bigint, OUT bytes bigint, OUT hashes integer, OUT probability double precision,
	OUT layout text, OUT seed bigint, OUT rows bigint, OUT set_bits bigint, OUT fill double precision,
	OUT form text, OUT key_family text)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_info(pbf) IS 'parameters and state of a filter';

--
-- Merging stored filters
--

CREATE FUNCTION _pbf_agg_combine(pbf, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _pbf_agg_combine(pbf, pbf) IS 'aggregate support';

CREATE FUNCTION _pbf_merge_trans(pbf, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_merge_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _pbf_merge_trans(pbf, pbf) IS 'aggregate support';

CREATE FUNCTION _pbf_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'pbf_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _pbf_support(internal) IS 'planner support';

CREATE FUNCTION _pbf_agg_final(pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _pbf_agg_final(pbf) IS 'aggregate support';

CREATE AGGREGATE pbf_merge_agg(pbf) (
	STYPE = pbf, SSPACE = 65536, SFUNC = _pbf_merge_trans,
	COMBINEFUNC = _pbf_merge_trans, FINALFUNC = _pbf_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_merge_agg(pbf) IS 'filter of the rows of all filters';

--
-- Functions of filter and key, which is of any type as those of sketches are.
-- Where rows have no ids, draws are taken from random numbers.
--

CREATE FUNCTION _pbf_agg_trans(pbf, anycompatible, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_trans' LANGUAGE C VOLATILE PARALLEL SAFE
	SUPPORT _pbf_support;
COMMENT ON FUNCTION _pbf_agg_trans(pbf, anycompatible, pbf) IS 'aggregate support';

CREATE FUNCTION _pbf_row_agg_trans(pbf, anycompatible, bigint, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_row_agg_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT _pbf_support;
COMMENT ON FUNCTION _pbf_row_agg_trans(pbf, anycompatible, bigint, pbf) IS 'aggregate support';

CREATE FUNCTION _pbf_count_agg_trans(pbf, anycompatible, bigint, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_count_agg_trans' LANGUAGE C VOLATILE PARALLEL SAFE
	SUPPORT _pbf_support;
COMMENT ON FUNCTION _pbf_count_agg_trans(pbf, anycompatible, bigint, pbf) IS 'aggregate support';

CREATE AGGREGATE pbf_agg(key anycompatible, template pbf) (
	STYPE = pbf, SSPACE = 2048, SFUNC = _pbf_agg_trans,
	COMBINEFUNC = _pbf_agg_combine, FINALFUNC = _pbf_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(anycompatible, pbf) IS 'filter of keys';

CREATE AGGREGATE pbf_row_agg(key anycompatible, row_id bigint, template pbf) (
	STYPE = pbf, SSPACE = 2048, SFUNC = _pbf_row_agg_trans,
	COMBINEFUNC = _pbf_agg_combine, FINALFUNC = _pbf_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_row_agg(anycompatible, bigint, pbf)
	IS 'filter of keys in which the same row never counts twice';

CREATE AGGREGATE pbf_count_agg(key anycompatible, count bigint, template pbf) (
	STYPE = pbf, SSPACE = 2048, SFUNC = _pbf_count_agg_trans,
	COMBINEFUNC = _pbf_agg_combine, FINALFUNC = _pbf_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_count_agg(anycompatible, bigint, pbf) IS 'filter of keys that came so often each';

CREATE FUNCTION pbf_estimate(pbf, key anycompatiblenonarray, method text DEFAULT 'corrected')
	RETURNS double precision
	AS 'MODULE_PATHNAME', 'pbf_estimate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_estimate(pbf, anycompatiblenonarray, text) IS 'about how often a key came';

CREATE FUNCTION pbf_bounds(pbf, key anycompatible, confidence double precision DEFAULT 0.95,
	OUT lower double precision, OUT estimate double precision, OUT upper double precision)
	AS 'MODULE_PATHNAME', 'pbf_bounds' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_bounds(pbf, anycompatible, double precision) IS 'bounds of how often a key came';

CREATE FUNCTION pbf_contains(pbf, key anycompatiblenonarray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'pbf_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_contains(pbf, anycompatiblenonarray) IS 'are all bits of a key set? In a Bloom filter: was it there?';

CREATE FUNCTION pbf_add(pbf, key anycompatible) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_add' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_add(pbf, anycompatible) IS 'filter with a row added';

CREATE FUNCTION pbf_add(pbf, key anycompatible, row_id bigint) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_add_row' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_add(pbf, anycompatible, bigint) IS 'filter with a row added, unless it is there already';

--
-- Batches of keys, as for sketches.  The method of a batch is varchar so that a
-- literal beside an unknown key means the function of one key: text is preferred.
--

CREATE FUNCTION pbf_estimate(pbf, keys anyarray, method varchar DEFAULT 'corrected')
	RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'pbf_estimate_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_estimate(pbf, anyarray, varchar) IS 'estimate of each key of an array';

CREATE FUNCTION pbf_contains(pbf, keys anyarray) RETURNS boolean[]
	AS 'MODULE_PATHNAME', 'pbf_contains_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_contains(pbf, anyarray) IS 'whether each key of an array is there';

CREATE FUNCTION pbf_estimate_key(pbf, key anycompatible, method text DEFAULT 'corrected')
	RETURNS double precision
	AS 'MODULE_PATHNAME', 'pbf_estimate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_estimate_key(pbf, anycompatible, text)
	IS 'estimate of one key, which may be an array';

CREATE FUNCTION pbf_contains_key(pbf, key anycompatible) RETURNS boolean
	AS 'MODULE_PATHNAME', 'pbf_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_contains_key(pbf, anycompatible) IS 'whether one key, which may be an array, is there';
