-- Declares the objects of a type whose values are the bytes of a format (pg/flat.h):
-- the type @TYPE@ with text and binary form, casts, comparison, operator classes, and
-- common functions of its aggregates.

CREATE TYPE @TYPE@;

--@ each NAME|OF|RESULT
--@ of in|cstring|@TYPE@
--@ of out|@TYPE@|cstring
--@ of recv|internal|@TYPE@
--@ of send|@TYPE@|bytea
CREATE FUNCTION _@TYPE@_@NAME@(@OF@) RETURNS @RESULT@
	AS 'MODULE_PATHNAME', '@TYPE@_@NAME@' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_@NAME@(@OF@) IS 'I/O';

--@ end
-- Storage is external, because counters and bits do not compress well, and
-- uncompressed values can be read in part.
CREATE TYPE @TYPE@ (
	INPUT = _@TYPE@_in,
	OUTPUT = _@TYPE@_out,
	RECEIVE = _@TYPE@_recv,
	SEND = _@TYPE@_send,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = external
);

CREATE FUNCTION _@TYPE@_to_bytea(@TYPE@) RETURNS bytea
	AS 'MODULE_PATHNAME', '@TYPE@_to_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_to_bytea(@TYPE@) IS 'bytes of a @NOUN@';

CREATE FUNCTION _@TYPE@_from_bytea(bytea) RETURNS @TYPE@
	AS 'MODULE_PATHNAME', '@TYPE@_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_from_bytea(bytea) IS '@NOUN@ from its bytes, validated';

CREATE CAST (@TYPE@ AS bytea) WITH FUNCTION _@TYPE@_to_bytea(@TYPE@);
CREATE CAST (bytea AS @TYPE@) WITH FUNCTION _@TYPE@_from_bytea(bytea);

--
-- Comparison.  Values with equal parameters and contents have equal bytes.  The order
-- has no meaning, but DISTINCT inside aggregates needs an order.
--

--@ each NAME|OPERATOR
--@ of eq|=
--@ of ne|<>
--@ of lt|<
--@ of le|<=
--@ of ge|>=
--@ of gt|>
CREATE FUNCTION _@TYPE@_@NAME@(@TYPE@, @TYPE@) RETURNS boolean
	AS 'MODULE_PATHNAME', '@TYPE@_@NAME@' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_@NAME@(@TYPE@, @TYPE@) IS 'implementation of @OPERATOR@ operator';

--@ end
CREATE FUNCTION _@TYPE@_cmp(@TYPE@, @TYPE@) RETURNS integer
	AS 'MODULE_PATHNAME', '@TYPE@_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_cmp(@TYPE@, @TYPE@) IS 'less-equal-greater';

CREATE FUNCTION _@TYPE@_hash(@TYPE@) RETURNS integer
	AS 'MODULE_PATHNAME', '@TYPE@_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_hash(@TYPE@) IS 'hash';

--@ each OPERATOR|NAME|OTHER|NOT|RESTRICT|JOIN|WHAT
--@ of =|eq|=|<>|eqsel|eqjoinsel, HASHES, MERGES|equal
--@ of <>|ne|<>|=|neqsel|neqjoinsel|not equal
--@ of <|lt|>|>=|scalarltsel|scalarltjoinsel|less than
--@ of <=|le|>=|>|scalarlesel|scalarlejoinsel|less than or equal
--@ of >=|ge|<=|<|scalargesel|scalargejoinsel|greater than or equal
--@ of >|gt|<|<=|scalargtsel|scalargtjoinsel|greater than
CREATE OPERATOR @OPERATOR@ (
	LEFTARG = @TYPE@, RIGHTARG = @TYPE@, FUNCTION = _@TYPE@_@NAME@,
	COMMUTATOR = @OTHER@, NEGATOR = @NOT@, RESTRICT = @RESTRICT@, JOIN = @JOIN@
);
COMMENT ON OPERATOR @OPERATOR@ (@TYPE@, @TYPE@) IS '@WHAT@';

--@ end
CREATE OPERATOR CLASS @TYPE@_ops DEFAULT FOR TYPE @TYPE@ USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 _@TYPE@_cmp(@TYPE@, @TYPE@);
COMMENT ON OPERATOR CLASS @TYPE@_ops USING btree IS 'order of @NOUNS@';
COMMENT ON OPERATOR FAMILY @TYPE@_ops USING btree IS 'order of @NOUNS@';

CREATE OPERATOR CLASS @TYPE@_ops DEFAULT FOR TYPE @TYPE@ USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 _@TYPE@_hash(@TYPE@);
COMMENT ON OPERATOR CLASS @TYPE@_ops USING hash IS 'hash operators of @NOUNS@';
COMMENT ON OPERATOR FAMILY @TYPE@_ops USING hash IS 'hash operators of @NOUNS@';

--
-- Common functions of the type's aggregates
--

CREATE FUNCTION _@TYPE@_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', '@TYPE@_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_support(internal) IS 'planner support';

CREATE FUNCTION _@TYPE@_merge_trans(@TYPE@, @TYPE@) RETURNS @TYPE@
	AS 'MODULE_PATHNAME', '@TYPE@_merge_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_merge_trans(@TYPE@, @TYPE@) IS 'aggregate support';

CREATE FUNCTION _@TYPE@_agg_final(@TYPE@) RETURNS @TYPE@
	AS 'MODULE_PATHNAME', '@TYPE@_agg_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_agg_final(@TYPE@) IS 'aggregate support';
