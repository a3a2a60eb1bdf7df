-- The objects that each type needs whose values are the bytes of a format (pg/flat.h):
-- the type @TYPE@ with text and binary form, casts, comparison and operator classes.

CREATE TYPE @TYPE@;

CREATE FUNCTION _@TYPE@_in(cstring) RETURNS @TYPE@
	AS 'MODULE_PATHNAME', '@TYPE@_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_in(cstring) IS 'I/O';

CREATE FUNCTION _@TYPE@_out(@TYPE@) RETURNS cstring
	AS 'MODULE_PATHNAME', '@TYPE@_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_out(@TYPE@) IS 'I/O';

CREATE FUNCTION _@TYPE@_recv(internal) RETURNS @TYPE@
	AS 'MODULE_PATHNAME', '@TYPE@_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_recv(internal) IS 'I/O';

CREATE FUNCTION _@TYPE@_send(@TYPE@) RETURNS bytea
	AS 'MODULE_PATHNAME', '@TYPE@_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_send(@TYPE@) IS 'I/O';

-- storage external: counters and bits do not compress well, and uncompressed values
-- can be read in part
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
-- means nothing, but DISTINCT inside aggregates needs one.
--

CREATE FUNCTION _@TYPE@_eq(@TYPE@, @TYPE@) RETURNS boolean
	AS 'MODULE_PATHNAME', '@TYPE@_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_eq(@TYPE@, @TYPE@) IS 'implementation of = operator';

CREATE FUNCTION _@TYPE@_ne(@TYPE@, @TYPE@) RETURNS boolean
	AS 'MODULE_PATHNAME', '@TYPE@_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_ne(@TYPE@, @TYPE@) IS 'implementation of <> operator';

CREATE FUNCTION _@TYPE@_lt(@TYPE@, @TYPE@) RETURNS boolean
	AS 'MODULE_PATHNAME', '@TYPE@_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_lt(@TYPE@, @TYPE@) IS 'implementation of < operator';

CREATE FUNCTION _@TYPE@_le(@TYPE@, @TYPE@) RETURNS boolean
	AS 'MODULE_PATHNAME', '@TYPE@_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_le(@TYPE@, @TYPE@) IS 'implementation of <= operator';

CREATE FUNCTION _@TYPE@_ge(@TYPE@, @TYPE@) RETURNS boolean
	AS 'MODULE_PATHNAME', '@TYPE@_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_ge(@TYPE@, @TYPE@) IS 'implementation of >= operator';

CREATE FUNCTION _@TYPE@_gt(@TYPE@, @TYPE@) RETURNS boolean
	AS 'MODULE_PATHNAME', '@TYPE@_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_gt(@TYPE@, @TYPE@) IS 'implementation of > operator';

CREATE FUNCTION _@TYPE@_cmp(@TYPE@, @TYPE@) RETURNS integer
	AS 'MODULE_PATHNAME', '@TYPE@_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_cmp(@TYPE@, @TYPE@) IS 'less-equal-greater';

CREATE FUNCTION _@TYPE@_hash(@TYPE@) RETURNS integer
	AS 'MODULE_PATHNAME', '@TYPE@_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _@TYPE@_hash(@TYPE@) IS 'hash';

CREATE OPERATOR = (
	LEFTARG = @TYPE@, RIGHTARG = @TYPE@, FUNCTION = _@TYPE@_eq,
	COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (@TYPE@, @TYPE@) IS 'equal';

CREATE OPERATOR <> (
	LEFTARG = @TYPE@, RIGHTARG = @TYPE@, FUNCTION = _@TYPE@_ne,
	COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (@TYPE@, @TYPE@) IS 'not equal';

CREATE OPERATOR < (
	LEFTARG = @TYPE@, RIGHTARG = @TYPE@, FUNCTION = _@TYPE@_lt,
	COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (@TYPE@, @TYPE@) IS 'less than';

CREATE OPERATOR <= (
	LEFTARG = @TYPE@, RIGHTARG = @TYPE@, FUNCTION = _@TYPE@_le,
	COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (@TYPE@, @TYPE@) IS 'less than or equal';

CREATE OPERATOR >= (
	LEFTARG = @TYPE@, RIGHTARG = @TYPE@, FUNCTION = _@TYPE@_ge,
	COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (@TYPE@, @TYPE@) IS 'greater than or equal';

CREATE OPERATOR > (
	LEFTARG = @TYPE@, RIGHTARG = @TYPE@, FUNCTION = _@TYPE@_gt,
	COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (@TYPE@, @TYPE@) IS 'greater than';

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
