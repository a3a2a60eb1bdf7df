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

CREATE FUNCTION pbf_agg_combine(pbf, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_combine(pbf, pbf) IS 'aggregate support';

CREATE FUNCTION pbf_merge_trans(pbf, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_merge_trans(pbf, pbf) IS 'aggregate support';

CREATE FUNCTION pbf_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_support(internal) IS 'planner support';

CREATE FUNCTION pbf_agg_final(pbf) RETURNS pbf
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_final(pbf) IS 'aggregate support';

CREATE AGGREGATE pbf_merge_agg(pbf) (
	STYPE = pbf, SSPACE = 65536, SFUNC = pbf_merge_trans,
	COMBINEFUNC = pbf_merge_trans, FINALFUNC = pbf_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_merge_agg(pbf) IS 'filter of the rows of all filters';

--
-- Functions of filter and key, for the same types of keys as those of sketches.
-- Where rows have no ids, draws are taken from random numbers.
--

--@ each KEY @KEYS@ @AGGREGATED@ oid anyelement
CREATE FUNCTION pbf_agg_trans(pbf, @KEY@, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_trans' LANGUAGE C VOLATILE PARALLEL SAFE
	SUPPORT pbf_support;
COMMENT ON FUNCTION pbf_agg_trans(pbf, @KEY@, pbf) IS 'aggregate support';

CREATE FUNCTION pbf_row_agg_trans(pbf, @KEY@, bigint, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_row_agg_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT pbf_support;
COMMENT ON FUNCTION pbf_row_agg_trans(pbf, @KEY@, bigint, pbf) IS 'aggregate support';

CREATE FUNCTION pbf_count_agg_trans(pbf, @KEY@, bigint, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_count_agg_trans' LANGUAGE C VOLATILE PARALLEL SAFE
	SUPPORT pbf_support;
COMMENT ON FUNCTION pbf_count_agg_trans(pbf, @KEY@, bigint, pbf) IS 'aggregate support';

CREATE AGGREGATE pbf_agg(@KEY@, template pbf) (
	STYPE = pbf, SSPACE = 2048, SFUNC = pbf_agg_trans,
	COMBINEFUNC = pbf_agg_combine, FINALFUNC = pbf_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(@KEY@, pbf) IS 'filter of keys';

CREATE AGGREGATE pbf_row_agg(@KEY@, row_id bigint, template pbf) (
	STYPE = pbf, SSPACE = 2048, SFUNC = pbf_row_agg_trans,
	COMBINEFUNC = pbf_agg_combine, FINALFUNC = pbf_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_row_agg(@KEY@, bigint, pbf)
	IS 'filter of keys in which the same row never counts twice';

CREATE AGGREGATE pbf_count_agg(@KEY@, count bigint, template pbf) (
	STYPE = pbf, SSPACE = 2048, SFUNC = pbf_count_agg_trans,
	COMBINEFUNC = pbf_agg_combine, FINALFUNC = pbf_agg_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_count_agg(@KEY@, bigint, pbf) IS 'filter of keys that came so often each';

--@ end
--@ each KEY @KEYS@ anyelement
CREATE FUNCTION pbf_estimate(pbf, key @KEY@, method text DEFAULT 'corrected')
	RETURNS double precision
	AS 'MODULE_PATHNAME', 'pbf_estimate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_estimate(pbf, @KEY@, text) IS 'about how often a key came';

CREATE FUNCTION pbf_bounds(pbf, key @KEY@, confidence double precision DEFAULT 0.95,
	OUT lower double precision, OUT estimate double precision, OUT upper double precision)
	AS 'MODULE_PATHNAME', 'pbf_bounds' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_bounds(pbf, @KEY@, double precision) IS 'bounds of how often a key came';

CREATE FUNCTION pbf_contains(pbf, key @KEY@) RETURNS boolean
	AS 'MODULE_PATHNAME', 'pbf_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_contains(pbf, @KEY@) IS 'are all bits of a key set? In a Bloom filter: was it there?';

CREATE FUNCTION pbf_add(pbf, key @KEY@) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_add' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_add(pbf, @KEY@) IS 'filter with a row added';

CREATE FUNCTION pbf_add(pbf, key @KEY@, row_id bigint) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_add_row' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_add(pbf, @KEY@, bigint) IS 'filter with a row added, unless it is there already';

--@ end
--
-- Batches of keys, and of any other type, as for sketches.
--

--@ each KEY @KEYS@ varchar bpchar
CREATE FUNCTION pbf_estimate(pbf, keys @KEY@[], method text DEFAULT 'corrected')
	RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'pbf_estimate_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_estimate(pbf, @KEY@[], text) IS 'estimate of each key of an array';

CREATE FUNCTION pbf_contains(pbf, keys @KEY@[]) RETURNS boolean[]
	AS 'MODULE_PATHNAME', 'pbf_contains_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_contains(pbf, @KEY@[]) IS 'whether each key of an array is there';

--@ end
CREATE FUNCTION pbf_estimate_keys(pbf, keys anyarray, method text DEFAULT 'corrected')
	RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'pbf_estimate_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_estimate_keys(pbf, anyarray, text) IS 'estimate of each key of an array';

CREATE FUNCTION pbf_estimate_key(pbf, key anyelement, method text DEFAULT 'corrected')
	RETURNS double precision
	AS 'MODULE_PATHNAME', 'pbf_estimate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_estimate_key(pbf, anyelement, text)
	IS 'estimate of one key, which may be an array';

CREATE FUNCTION pbf_contains_keys(pbf, keys anyarray) RETURNS boolean[]
	AS 'MODULE_PATHNAME', 'pbf_contains_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_contains_keys(pbf, anyarray) IS 'whether each key of an array is there';

CREATE FUNCTION pbf_contains_key(pbf, key anyelement) RETURNS boolean
	AS 'MODULE_PATHNAME', 'pbf_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_contains_key(pbf, anyelement) IS 'whether one key, which may be an array, is there';
