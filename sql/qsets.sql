--
-- Sets as arrays, sorted or not.  There are no operators, since intarray has operators for sets of
-- integers.  Integers are intersected without a hash table.  Other elements may be of any type that
-- has a hash.
--

--@ each ARRAY|KIND|ORDER
--@ of smallint[]|array|ascending and each once
--@ of integer[]|array|ascending and each once
--@ of bigint[]|array|ascending and each once
--@ of anycompatiblearray|keys|each once, in the order of the first set
CREATE FUNCTION qsets_intersect(a @ARRAY@, b @ARRAY@) RETURNS @ARRAY@
	AS 'MODULE_PATHNAME', 'qsets_@KIND@_intersect' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_intersect(@ARRAY@, @ARRAY@) IS 'common elements, @ORDER@';

CREATE FUNCTION qsets_intersect_count(a @ARRAY@, b @ARRAY@) RETURNS bigint
	AS 'MODULE_PATHNAME', 'qsets_@KIND@_intersect_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_intersect_count(@ARRAY@, @ARRAY@)
	IS 'number of common elements';

CREATE FUNCTION qsets_union_count(a @ARRAY@, b @ARRAY@) RETURNS bigint
	AS 'MODULE_PATHNAME', 'qsets_@KIND@_union_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_union_count(@ARRAY@, @ARRAY@)
	IS 'number of elements in either set';

CREATE FUNCTION qsets_difference_count(a @ARRAY@, b @ARRAY@) RETURNS bigint
	AS 'MODULE_PATHNAME', 'qsets_@KIND@_difference_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_difference_count(@ARRAY@, @ARRAY@)
	IS 'number of elements of the first set that are not in the second set';

CREATE FUNCTION qsets_jaccard(a @ARRAY@, b @ARRAY@) RETURNS double precision
	AS 'MODULE_PATHNAME', 'qsets_@KIND@_jaccard' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_jaccard(@ARRAY@, @ARRAY@)
	IS 'common elements divided by the elements in either set';

CREATE FUNCTION qsets_overlap(a @ARRAY@, b @ARRAY@) RETURNS double precision
	AS 'MODULE_PATHNAME', 'qsets_@KIND@_overlap' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_overlap(@ARRAY@, @ARRAY@)
	IS 'common elements divided by the elements of the smaller set';

CREATE FUNCTION qsets_contains_all(a @ARRAY@, b @ARRAY@) RETURNS boolean
	AS 'MODULE_PATHNAME', 'qsets_@KIND@_contains_all' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_contains_all(@ARRAY@, @ARRAY@)
	IS 'does the first set have all elements of the second set?';

--@ end
--
-- Collections of sets
--

--@ use flat.sql TYPE=qsets NOUN=collection NOUNS=collections
COMMENT ON TYPE qsets IS 'collection of sets of keys';

CREATE FUNCTION qsets_merge(collection qsets, other qsets) RETURNS qsets
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION qsets_merge(qsets, qsets) IS 'union, set by set';

CREATE OPERATOR || (
	LEFTARG = qsets, RIGHTARG = qsets, FUNCTION = qsets_merge, COMMUTATOR = ||
);
COMMENT ON OPERATOR || (qsets, qsets) IS 'merge';

CREATE FUNCTION qsets_count(collection qsets) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_count(qsets) IS 'number of sets';

CREATE FUNCTION qsets_ids(collection qsets) RETURNS bigint[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_ids(qsets) IS 'ids of the sets, ascending';

CREATE FUNCTION qsets_cardinality(collection qsets, set_id bigint) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_cardinality(qsets, bigint) IS 'number of elements of a set';

CREATE FUNCTION qsets_elements(collection qsets, set_id bigint) RETURNS bigint[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_elements(qsets, bigint) IS 'elements of a set as numbers, ascending';

CREATE FUNCTION qsets_subset(collection qsets, set_ids bigint[]) RETURNS qsets
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_subset(qsets, bigint[]) IS 'the sets with these ids';

CREATE FUNCTION qsets_info(
	collection qsets,
	OUT sets bigint, OUT elements bigint, OUT distinct_elements bigint, OUT largest bigint,
	OUT exact boolean, OUT key_family text, OUT memory bigint, OUT bytes bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_info(qsets) IS 'counts and sizes of a collection';

CREATE FUNCTION qsets_intersect_count(collection qsets, a bigint, b bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'qsets_intersect_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_intersect_count(qsets, bigint, bigint)
	IS 'number of common elements of two sets of a collection';

CREATE FUNCTION qsets_id(key anycompatible) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsets_id(anycompatible) IS 'id of a set for a key of any type';

--
-- Making collections.  Elements may be of any type, like keys of qsketch_agg.
--

CREATE AGGREGATE qsets_merge_agg(collection qsets) (
	STYPE = qsets, SSPACE = 65536, SFUNC = _qsets_merge_trans,
	COMBINEFUNC = _qsets_merge_trans, FINALFUNC = _qsets_agg_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE qsets_merge_agg(qsets) IS 'union of collections, set by set';

CREATE FUNCTION _qsets_combine_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'qsets_combine_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _qsets_combine_support(internal) IS 'planner support';

CREATE FUNCTION _qsets_agg_combine(qsets, qsets) RETURNS qsets
	AS 'MODULE_PATHNAME', 'qsets_merge_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT _qsets_combine_support;
COMMENT ON FUNCTION _qsets_agg_combine(qsets, qsets) IS 'aggregate support';

-- COST is the cost of adding a row: two lookups.  With a lower cost the planner would prefer
-- many workers to QSketchScan.
CREATE FUNCTION _qsets_agg_trans(qsets, bigint, anycompatible) RETURNS qsets
	AS 'MODULE_PATHNAME', 'qsets_agg_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10
	SUPPORT _qsets_support;
COMMENT ON FUNCTION _qsets_agg_trans(qsets, bigint, anycompatible) IS 'aggregate support';

CREATE AGGREGATE qsets_agg(set_id bigint, element anycompatible) (
	STYPE = qsets, SSPACE = 65536, SFUNC = _qsets_agg_trans,
	COMBINEFUNC = _qsets_agg_combine, FINALFUNC = _qsets_agg_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE qsets_agg(bigint, anycompatible) IS 'collection of sets of elements';

-- Ids of type text or uuid raise an error that names qsets_id.  A parameter without a type is text,
-- so qsets_similar accepts the text of a number as an id.
--@ each ID|SIMILAR|UNLESS
--@ of text|qsets_similar_text| unless it is a number
--@ of uuid|qsets_other_id|
CREATE FUNCTION _qsets_agg_trans(qsets, @ID@, anycompatible) RETURNS qsets
	AS 'MODULE_PATHNAME', 'qsets_other_id' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _qsets_agg_trans(qsets, @ID@, anycompatible) IS 'aggregate support';

CREATE AGGREGATE qsets_agg(set_id @ID@, element anycompatible) (
	STYPE = qsets, SSPACE = 65536, SFUNC = _qsets_agg_trans,
	COMBINEFUNC = _qsets_agg_combine, FINALFUNC = _qsets_agg_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE qsets_agg(@ID@, anycompatible) IS 'an error: ids of sets are bigint, as qsets_id makes them';

CREATE FUNCTION qsets_similar(
	collection qsets, set_id @ID@, min_count bigint DEFAULT 1, min_jaccard double precision DEFAULT 0,
	top integer DEFAULT 10, order_by text DEFAULT 'jaccard',
	OUT id bigint, OUT common bigint, OUT jaccard double precision,
	OUT overlap double precision, OUT lift double precision)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', '@SIMILAR@' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION qsets_similar(qsets, @ID@, bigint, double precision, integer, text)
	IS 'an error@UNLESS@: ids of sets are bigint, as qsets_id makes them';

--@ end

--
-- Pairs of sets.  NULL stands for the default.
--

CREATE FUNCTION _qsets_pairs_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'qsets_pairs_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _qsets_pairs_support(internal) IS 'planner support';

CREATE FUNCTION qsets_pairs(
	collection qsets, min_count bigint DEFAULT NULL, min_jaccard double precision DEFAULT 0,
	top integer DEFAULT NULL, method text DEFAULT 'auto',
	OUT a bigint, OUT b bigint, OUT common bigint, OUT jaccard double precision)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'qsets_pairs' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000
	SUPPORT _qsets_pairs_support;
COMMENT ON FUNCTION qsets_pairs(qsets, bigint, double precision, integer, text)
	IS 'pairs of sets with many common elements';

CREATE FUNCTION qsets_pairs(
	collection qsets, other qsets, min_count bigint DEFAULT NULL, min_jaccard double precision DEFAULT 0,
	top integer DEFAULT NULL, method text DEFAULT 'auto',
	OUT a bigint, OUT b bigint, OUT common bigint, OUT jaccard double precision)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'qsets_pairs_between' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000
	SUPPORT _qsets_pairs_support;
COMMENT ON FUNCTION qsets_pairs(qsets, qsets, bigint, double precision, integer, text)
	IS 'pairs of a set of the first and a set of the second collection, with many common elements';

CREATE FUNCTION qsets_nearest(
	collection qsets, min_count bigint DEFAULT 1, min_jaccard double precision DEFAULT 0,
	top integer DEFAULT 10, method text DEFAULT 'auto', order_by text DEFAULT 'jaccard',
	OUT a bigint, OUT b bigint, OUT rank bigint, OUT common bigint, OUT jaccard double precision)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'qsets_nearest' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000
	SUPPORT _qsets_pairs_support;
COMMENT ON FUNCTION qsets_nearest(qsets, bigint, double precision, integer, text, text)
	IS 'for each set the sets with most elements in common with this set, the nearest first';

CREATE FUNCTION qsets_nearest(
	collection qsets, other qsets, min_count bigint DEFAULT 1, min_jaccard double precision DEFAULT 0,
	top integer DEFAULT 10, method text DEFAULT 'auto', order_by text DEFAULT 'jaccard',
	OUT a bigint, OUT b bigint, OUT rank bigint, OUT common bigint, OUT jaccard double precision)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'qsets_nearest_between' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000
	SUPPORT _qsets_pairs_support;
COMMENT ON FUNCTION qsets_nearest(qsets, qsets, bigint, double precision, integer, text, text)
	IS 'for each set of the first collection the sets of the second with most elements in common with this set';

CREATE FUNCTION qsets_similar(
	collection qsets, set_id bigint, min_count bigint DEFAULT 1, min_jaccard double precision DEFAULT 0,
	top integer DEFAULT 10, order_by text DEFAULT 'jaccard',
	OUT id bigint, OUT common bigint, OUT jaccard double precision,
	OUT overlap double precision, OUT lift double precision)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'qsets_similar' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION qsets_similar(qsets, bigint, bigint, double precision, integer, text)
	IS 'sets with most elements in common with one set, the nearest first';

CREATE FUNCTION qsets_similar(
	collection qsets, elements anycompatiblearray, min_count bigint DEFAULT 1,
	min_jaccard double precision DEFAULT 0, top integer DEFAULT 10,
	order_by text DEFAULT 'jaccard',
	OUT id bigint, OUT common bigint, OUT jaccard double precision,
	OUT overlap double precision, OUT lift double precision)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'qsets_similar_elements' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION
	qsets_similar(qsets, anycompatiblearray, bigint, double precision, integer, text)
	IS 'sets with most elements in common with these elements, the nearest first';

CREATE FUNCTION qsets_pairs_plan(
	collection qsets, min_count bigint DEFAULT NULL, min_jaccard double precision DEFAULT 0,
	top integer DEFAULT NULL, method text DEFAULT 'auto',
	OUT method_name text, OUT chosen boolean, OUT milliseconds double precision,
	OUT memory bigint, OUT workers integer, OUT note text, OUT device text, OUT reason text)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'qsets_pairs_plan' LANGUAGE C STABLE PARALLEL SAFE ROWS 8;
COMMENT ON FUNCTION qsets_pairs_plan(qsets, bigint, double precision, integer, text)
	IS 'the cost of each method of qsets_pairs, the chosen method, and its device';
