--
-- Probabilistic Bloom filters: the type
--

--@ use flat.sql TYPE=qfilter NOUN=filter NOUNS=filters
COMMENT ON TYPE qfilter IS 'probabilistic Bloom filter of keys';

--
-- Construction
--

CREATE FUNCTION qfilter_new(
	rows bigint, frequency bigint, error double precision DEFAULT 0.1,
	preset text DEFAULT 'balanced', k integer DEFAULT NULL, seed bigint DEFAULT 0) RETURNS qfilter
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_new(bigint, bigint, double precision, text, integer, bigint)
	IS 'empty filter that tells frequencies, the template of aggregates';

CREATE FUNCTION qfilter_new_bloom(
	keys double precision, false_positive_rate double precision DEFAULT 0.01, seed bigint DEFAULT 0,
	layout text DEFAULT 'blocked') RETURNS qfilter
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_new_bloom(double precision, double precision, bigint, text)
	IS 'empty Bloom filter, the template of aggregates';

--
-- Functions of one and two filters
--

CREATE FUNCTION qfilter_merge(filter qfilter, other qfilter) RETURNS qfilter
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_merge(qfilter, qfilter) IS 'filter of the rows of both filters';

CREATE OPERATOR || (
	LEFTARG = qfilter, RIGHTARG = qfilter, FUNCTION = qfilter_merge, COMMUTATOR = ||
);
COMMENT ON OPERATOR || (qfilter, qfilter) IS 'merge';

-- The operator | is another name of the merge, which is a union of bits.
CREATE OPERATOR | (
	LEFTARG = qfilter, RIGHTARG = qfilter, FUNCTION = qfilter_merge, COMMUTATOR = |
);
COMMENT ON OPERATOR | (qfilter, qfilter) IS 'merge';

CREATE FUNCTION qfilter_fold(filter qfilter, halvings integer DEFAULT 1) RETURNS qfilter
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_fold(qfilter, integer) IS 'filter of the same rows in half of the bits';

CREATE FUNCTION qfilter_fill(filter qfilter) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_fill(qfilter) IS 'fraction of set bits';

CREATE FUNCTION qfilter_distinct(filter qfilter) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_distinct(qfilter) IS 'about how many distinct keys are in a Bloom filter';

CREATE FUNCTION qfilter_info(
	filter qfilter,
	OUT bits bigint, OUT bytes bigint, OUT hashes integer, OUT probability double precision,
	OUT layout text, OUT seed bigint, OUT rows bigint, OUT set_bits bigint, OUT fill double precision,
	OUT form text, OUT key_family text)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_info(qfilter) IS 'parameters and state of a filter';

--
-- Merging stored filters
--

CREATE FUNCTION _qfilter_agg_combine(qfilter, qfilter) RETURNS qfilter
	AS 'MODULE_PATHNAME', 'qfilter_agg_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT _qsketch_combine_support;
COMMENT ON FUNCTION _qfilter_agg_combine(qfilter, qfilter) IS 'aggregate support';

CREATE AGGREGATE qfilter_merge_agg(filter qfilter) (
	STYPE = qfilter, SSPACE = 65536, SFUNC = _qfilter_merge_trans,
	COMBINEFUNC = _qfilter_merge_trans, FINALFUNC = _qfilter_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE qfilter_merge_agg(qfilter) IS 'filter of the rows of all filters';

--
-- Functions of filter and key.  A key may be of any type, as for sketches.  If rows
-- have no ids, random numbers choose the bits of each row.
--

--@ each NAME|KEYS|NAMED|VOLATILITY|WHAT
--@ of agg|anycompatible|key anycompatible|VOLATILE|filter of keys
--@ of row_agg|anycompatible, anyelement|key anycompatible, row_id anyelement|IMMUTABLE|filter of keys in which the same row never counts twice
--@ of count_agg|anycompatible, bigint|key anycompatible, count bigint|VOLATILE|filter of keys, each with the number of its occurrences
CREATE FUNCTION _qfilter_@NAME@_trans(qfilter, @KEYS@, qfilter) RETURNS qfilter
	AS 'MODULE_PATHNAME', 'qfilter_@NAME@_trans' LANGUAGE C @VOLATILITY@ PARALLEL SAFE
	SUPPORT _qfilter_support;
COMMENT ON FUNCTION _qfilter_@NAME@_trans(qfilter, @KEYS@, qfilter) IS 'aggregate support';

CREATE AGGREGATE qfilter_@NAME@(@NAMED@, template qfilter) (
	STYPE = qfilter, SSPACE = 2048, SFUNC = _qfilter_@NAME@_trans,
	COMBINEFUNC = _qfilter_agg_combine, FINALFUNC = _qfilter_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE qfilter_@NAME@(@KEYS@, qfilter) IS '@WHAT@';

--@ end
-- Raises an error that says how to call the aggregate, instead of the error that no such function
-- exists.
CREATE FUNCTION _qfilter_agg_trans(qfilter, anycompatible) RETURNS qfilter
	AS 'MODULE_PATHNAME', 'qfilter_agg_without_template' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _qfilter_agg_trans(qfilter, anycompatible) IS 'aggregate support';

CREATE AGGREGATE qfilter_agg(key anycompatible) (
	STYPE = qfilter, SSPACE = 2048, SFUNC = _qfilter_agg_trans,
	COMBINEFUNC = _qfilter_agg_combine, FINALFUNC = _qfilter_agg_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE qfilter_agg(anycompatible) IS 'an error: the template argument is missing';

CREATE FUNCTION qfilter_estimate(filter qfilter, key anycompatiblenonarray, method text DEFAULT 'corrected')
	RETURNS double precision
	AS 'MODULE_PATHNAME', 'qfilter_estimate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_estimate(qfilter, anycompatiblenonarray, text) IS 'about how often a key occurred';

CREATE FUNCTION qfilter_bounds(filter qfilter, key anycompatible, confidence double precision DEFAULT 0.95,
	OUT lower double precision, OUT estimate double precision, OUT upper double precision)
	AS 'MODULE_PATHNAME', 'qfilter_bounds' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_bounds(qfilter, anycompatible, double precision) IS 'bounds of how often a key occurred';

CREATE FUNCTION qfilter_contains(filter qfilter, key anycompatiblenonarray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'qfilter_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_contains(qfilter, anycompatiblenonarray) IS 'are all bits of a key set? In a Bloom filter: did the key occur?';

CREATE FUNCTION qfilter_add(filter qfilter, key anycompatible) RETURNS qfilter
	AS 'MODULE_PATHNAME', 'qfilter_add' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_add(qfilter, anycompatible) IS 'filter with a row added';

CREATE FUNCTION qfilter_add(filter qfilter, key anycompatible, row_id bigint) RETURNS qfilter
	AS 'MODULE_PATHNAME', 'qfilter_add_row' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_add(qfilter, anycompatible, bigint) IS 'filter with a row added, unless the filter has the row already';

--
-- Batches of keys, as for sketches.  In the functions of batches "method" is varchar.
-- If both key and method are literals, PostgreSQL prefers the function with text,
-- which takes one key.
--

CREATE FUNCTION qfilter_estimate(filter qfilter, keys anyarray, method varchar DEFAULT 'corrected')
	RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'qfilter_estimate_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_estimate(qfilter, anyarray, varchar) IS 'estimate of each key of an array';

CREATE FUNCTION qfilter_contains(filter qfilter, keys anyarray) RETURNS boolean[]
	AS 'MODULE_PATHNAME', 'qfilter_contains_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_contains(qfilter, anyarray) IS 'whether each key of an array is in the filter';

CREATE FUNCTION qfilter_estimate_key(filter qfilter, key anycompatible, method text DEFAULT 'corrected')
	RETURNS double precision
	AS 'MODULE_PATHNAME', 'qfilter_estimate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_estimate_key(qfilter, anycompatible, text)
	IS 'estimate of one key, which may be an array';

CREATE FUNCTION qfilter_contains_key(filter qfilter, key anycompatible) RETURNS boolean
	AS 'MODULE_PATHNAME', 'qfilter_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qfilter_contains_key(qfilter, anycompatible) IS 'whether one key, which may be an array, is in the filter';
