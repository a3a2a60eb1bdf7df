--
-- Sets as arrays of integers, sorted or not.  No operators: intarray has these.
--

--@ each INTEGER smallint integer bigint
CREATE FUNCTION set_intersect(@INTEGER@[], @INTEGER@[]) RETURNS @INTEGER@[]
	AS 'MODULE_PATHNAME', 'qsets_array_intersect' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION set_intersect(@INTEGER@[], @INTEGER@[])
	IS 'common elements, ascending and each once';

CREATE FUNCTION set_intersect_count(@INTEGER@[], @INTEGER@[]) RETURNS bigint
	AS 'MODULE_PATHNAME', 'qsets_array_intersect_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION set_intersect_count(@INTEGER@[], @INTEGER@[])
	IS 'number of common elements';

CREATE FUNCTION set_union_count(@INTEGER@[], @INTEGER@[]) RETURNS bigint
	AS 'MODULE_PATHNAME', 'qsets_array_union_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION set_union_count(@INTEGER@[], @INTEGER@[])
	IS 'number of elements in either set';

CREATE FUNCTION set_difference_count(@INTEGER@[], @INTEGER@[]) RETURNS bigint
	AS 'MODULE_PATHNAME', 'qsets_array_difference_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION set_difference_count(@INTEGER@[], @INTEGER@[])
	IS 'number of elements of the first set that the second has not';

CREATE FUNCTION set_jaccard(@INTEGER@[], @INTEGER@[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'qsets_array_jaccard' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION set_jaccard(@INTEGER@[], @INTEGER@[])
	IS 'common elements as a part of the elements in either set';

CREATE FUNCTION set_overlap(@INTEGER@[], @INTEGER@[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'qsets_array_overlap' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION set_overlap(@INTEGER@[], @INTEGER@[])
	IS 'common elements as a part of the smaller set';

CREATE FUNCTION set_contains_all(@INTEGER@[], @INTEGER@[]) RETURNS boolean
	AS 'MODULE_PATHNAME', 'qsets_array_contains_all' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION set_contains_all(@INTEGER@[], @INTEGER@[])
	IS 'does the first set have all elements of the second?';

--@ end
