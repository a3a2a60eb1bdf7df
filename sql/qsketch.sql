-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION qsketch" to load this file. \quit

--
-- The script first asks the loaded library whether the library serves this SQL.
--
-- A call in this script must not be ambiguous.  The schema may have functions with
-- the same name and additional arguments that have defaults.  Casts cannot choose among
-- such functions, so the extension's function has a unique name while it is called.
-- Functions of PostgreSQL are called with their schema.
--

CREATE FUNCTION qsketch_version(sql text DEFAULT '@VERSION@') RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_version(text) IS 'version of the loaded library, if it serves this version of the SQL';
ALTER FUNCTION qsketch_version(text) RENAME TO "qsketch_version alone";
SELECT "qsketch_version alone"('@VERSION@'::text);
ALTER FUNCTION "qsketch_version alone"(text) RENAME TO qsketch_version;

--
-- The type
--

--@ use flat.sql TYPE=qsketch NOUN=sketch NOUNS=sketches
COMMENT ON TYPE qsketch IS 'sketch of the frequencies of keys';

--
-- Construction
--

CREATE FUNCTION qsketch_new(
	structure text DEFAULT 'multilevel', size text DEFAULT '1MB', depth integer DEFAULT 3,
	z integer DEFAULT 8, masks integer DEFAULT 1024, seed bigint DEFAULT 0) RETURNS qsketch
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_new(text, text, integer, integer, integer, bigint)
	IS 'empty sketch, also the template of aggregates';

CREATE FUNCTION qsketch_new_for(rows bigint, error double precision,
	confidence double precision DEFAULT 0.95, structure text DEFAULT 'auto',
	distinct_keys bigint DEFAULT NULL, weights bigint[] DEFAULT NULL) RETURNS qsketch
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_new_for(bigint, double precision, double precision, text, bigint, bigint[])
	IS 'empty sketch of the least size whose expected error, in rows or weight, is at most this error';

--
-- Functions of two sketches
--

CREATE FUNCTION qsketch_merge(sketch qsketch, other qsketch) RETURNS qsketch
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_merge(qsketch, qsketch) IS 'sketch of the keys of both';

CREATE OPERATOR || (
	LEFTARG = qsketch, RIGHTARG = qsketch, FUNCTION = qsketch_merge, COMMUTATOR = ||
);
COMMENT ON OPERATOR || (qsketch, qsketch) IS 'merge';

CREATE FUNCTION qsketch_subtract(sketch qsketch, other qsketch) RETURNS qsketch
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_subtract(qsketch, qsketch)
	IS 'sketch of the keys of the first sketch without the keys of the second';

CREATE OPERATOR - (
	LEFTARG = qsketch, RIGHTARG = qsketch, FUNCTION = qsketch_subtract
);
COMMENT ON OPERATOR - (qsketch, qsketch) IS 'subtract';

--
-- Functions of one sketch
--

CREATE FUNCTION qsketch_total(sketch qsketch) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_total(qsketch) IS 'sum of all weights';

CREATE FUNCTION qsketch_error(sketch qsketch, confidence double precision DEFAULT 0.95,
	keys bigint DEFAULT 1) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_error(qsketch, double precision, bigint)
	IS 'upper limit, with this confidence, of the overestimate of one key, or of all of n keys together';

CREATE FUNCTION qsketch_inner_product(a qsketch, b qsketch,
	OUT estimate double precision, OUT standard_error double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_inner_product(qsketch, qsketch)
	IS 'sum over all keys of the products of their counts: the size of the join of the two sketches'' rows';

CREATE FUNCTION qsketch_distinct(sketch qsketch,
	OUT estimate double precision, OUT standard_error double precision)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_distinct(qsketch)
	IS 'number of distinct keys with its standard error; NULL if the sketch is too full to tell';

CREATE FUNCTION qsketch_info(
	sketch qsketch,
	OUT structure text, OUT size bigint, OUT depth integer, OUT width bigint,
	OUT buckets bigint, OUT masks integer, OUT z integer, OUT seed bigint,
	OUT counter_bytes integer, OUT total bigint, OUT form text, OUT part text,
	OUT key_family text)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_info(qsketch) IS 'parameters and state of a sketch';

CREATE FUNCTION qsketch_fold(sketch qsketch, size text) RETURNS qsketch
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_fold(qsketch, text)
	IS 'sketch of the same keys, smaller by a power of two';

CREATE FUNCTION qsketch_sf_device(sketch qsketch) RETURNS qsketch
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_sf_device(qsketch) IS 'slim table of an sf sketch';

CREATE FUNCTION qsketch_sf_host(sketch qsketch) RETURNS qsketch
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_sf_host(qsketch) IS 'fat table of an sf sketch';

CREATE FUNCTION qsketch_sf_full(sketch qsketch) RETURNS qsketch
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_sf_full(qsketch) IS 'full sf sketch from its host part';

--
-- Merging stored sketches
--

CREATE FUNCTION _qsketch_combine_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'qsketch_combine_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _qsketch_combine_support(internal) IS 'planner support';

CREATE FUNCTION _qsketch_agg_combine(qsketch, qsketch) RETURNS qsketch
	AS 'MODULE_PATHNAME', 'qsketch_agg_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT _qsketch_combine_support;
COMMENT ON FUNCTION _qsketch_agg_combine(qsketch, qsketch) IS 'aggregate support';

CREATE FUNCTION _qsketch_modify_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'qsketch_modify_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _qsketch_modify_support(internal) IS 'planner support';

-- The state of a moving aggregate is internal, so that only the extension's functions
-- receive it.
CREATE FUNCTION _qsketch_moving_merge(internal, qsketch) RETURNS internal
	AS 'MODULE_PATHNAME', 'qsketch_merge_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _qsketch_moving_merge(internal, qsketch) IS 'aggregate support';

CREATE FUNCTION _qsketch_merge_inverse(internal, qsketch) RETURNS internal
	AS 'MODULE_PATHNAME', 'qsketch_merge_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _qsketch_merge_inverse(internal, qsketch) IS 'aggregate support';

--@ let EMPTY 'qsketch:UVNLAQUBAAADAAoATSnK6gCAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
CREATE FUNCTION _qsketch_moving_final(internal) RETURNS qsketch
	AS 'MODULE_PATHNAME', 'qsketch_moving_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _qsketch_moving_final(internal) IS 'aggregate support';

CREATE AGGREGATE qsketch_merge_agg(sketch qsketch) (
	STYPE = qsketch, SSPACE = 65536, SFUNC = _qsketch_merge_trans,
	COMBINEFUNC = _qsketch_merge_trans, FINALFUNC = _qsketch_agg_final,
	MSTYPE = internal, MSSPACE = 65536, MSFUNC = _qsketch_moving_merge,
	MINVFUNC = _qsketch_merge_inverse, MFINALFUNC = _qsketch_moving_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE qsketch_merge_agg(qsketch) IS 'sketch of the keys of all sketches';

--
-- Functions of sketch and key.  A key may be of any type: anycompatible is the type of
-- the argument, also for a domain, varchar or char(n).  For a literal or a parameter
-- without a type, anycompatible is text.
--

--@ each KEYS|NAMED|SUFFIX|WHAT
--@ of anycompatible|key anycompatible||sketch of keys
--@ of anycompatible, bigint|key anycompatible, weight bigint|_weight|sketch of weighted keys
--@ of anycompatible, qsketch|key anycompatible, template qsketch|_template|sketch of keys with the parameters of a template
--@ of anycompatible, bigint, qsketch|key anycompatible, weight bigint, template qsketch|_weight_template|sketch of weighted keys with the parameters of a template
CREATE FUNCTION _qsketch_agg_trans(qsketch, @KEYS@) RETURNS qsketch
	AS 'MODULE_PATHNAME', 'qsketch_agg_trans@SUFFIX@' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT _qsketch_support;
COMMENT ON FUNCTION _qsketch_agg_trans(qsketch, @KEYS@) IS 'aggregate support';

CREATE FUNCTION _qsketch_moving_trans(internal, @KEYS@) RETURNS internal
	AS 'MODULE_PATHNAME', 'qsketch_agg_trans@SUFFIX@' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _qsketch_moving_trans(internal, @KEYS@) IS 'aggregate support';

CREATE FUNCTION _qsketch_agg_inverse(internal, @KEYS@) RETURNS internal
	AS 'MODULE_PATHNAME', 'qsketch_agg_inverse@SUFFIX@' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION _qsketch_agg_inverse(internal, @KEYS@) IS 'aggregate support';

CREATE AGGREGATE qsketch_agg(@NAMED@) (
	STYPE = qsketch, SSPACE = 2048, SFUNC = _qsketch_agg_trans,
	COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final,
	MSTYPE = internal, MSSPACE = 2048, MSFUNC = _qsketch_moving_trans, MINVFUNC = _qsketch_agg_inverse,
	MFINALFUNC = _qsketch_moving_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE qsketch_agg(@KEYS@) IS '@WHAT@';

--@ end
CREATE FUNCTION qsketch_estimate(sketch qsketch, key anycompatiblenonarray) RETURNS bigint
	AS 'MODULE_PATHNAME', 'qsketch_estimate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_estimate(qsketch, anycompatiblenonarray) IS 'upper bound of the total weight of a key';

CREATE FUNCTION qsketch_estimate_unbiased(sketch qsketch, key anycompatible, clip boolean DEFAULT false)
	RETURNS double precision
	AS 'MODULE_PATHNAME', 'qsketch_estimate_unbiased' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_estimate_unbiased(qsketch, anycompatible, boolean)
	IS 'estimate of the total weight of a key that is right on average';

CREATE FUNCTION qsketch_bounds(sketch qsketch, key anycompatible, confidence double precision DEFAULT 0.95,
	keys bigint DEFAULT 1, OUT lower bigint, OUT estimate bigint, OUT upper bigint)
	AS 'MODULE_PATHNAME', 'qsketch_bounds' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_bounds(qsketch, anycompatible, double precision, bigint)
	IS 'bounds of the total weight of a key; with n keys, bounds that hold for all n together';

--@ each NAME|DONE
--@ of add|added
--@ of remove|removed
CREATE FUNCTION qsketch_@NAME@(sketch qsketch, key anycompatible) RETURNS qsketch
	AS 'MODULE_PATHNAME', 'qsketch_@NAME@' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT _qsketch_modify_support;
COMMENT ON FUNCTION qsketch_@NAME@(qsketch, anycompatible) IS 'sketch with a key @DONE@';

CREATE FUNCTION qsketch_@NAME@(sketch qsketch, key anycompatible, weight bigint) RETURNS qsketch
	AS 'MODULE_PATHNAME', 'qsketch_@NAME@' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT _qsketch_modify_support;
COMMENT ON FUNCTION qsketch_@NAME@(qsketch, anycompatible, bigint) IS 'sketch with a weighted key @DONE@';

--@ end
--
-- Batches of keys.  For qsketch_estimate and qsketch_lookup an array is a batch of keys.
-- For qsketch_estimate_key and all other functions of one key, an array is one key.
--

CREATE FUNCTION qsketch_estimate(sketch qsketch, keys anyarray) RETURNS bigint[]
	AS 'MODULE_PATHNAME', 'qsketch_estimate_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_estimate(qsketch, anyarray) IS 'estimate of each key of an array';

CREATE FUNCTION qsketch_lookup(sketch qsketch, keys anyarray, OUT key anyelement, OUT estimate bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'qsketch_lookup' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_lookup(qsketch, anyarray) IS 'keys of an array and their estimates, as rows';

CREATE FUNCTION qsketch_estimate_key(sketch qsketch, key anycompatible) RETURNS bigint
	AS 'MODULE_PATHNAME', 'qsketch_estimate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_estimate_key(qsketch, anycompatible)
	IS 'estimate of one key, which may be an array';

--
-- The GPU
--

CREATE FUNCTION qsketch_gpu(
	OUT state text, OUT device integer, OUT name text, OUT memory bigint, OUT memory_used bigint,
	OUT values_now bigint, OUT driver text, OUT reason text, OUT peers integer)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_gpu() IS 'GPUs in use, or why no GPU is in use';

CREATE FUNCTION _qsketch_gpu_counts(
	OUT worker_pid integer, OUT values_now integer, OUT cached_now integer,
	OUT cached_bytes bigint, OUT slots integer, OUT slots_free integer,
	OUT values_made bigint, OUT batches bigint, OUT keys bigint, OUT lookups bigint,
	OUT lookup_keys bigint, OUT merges bigint, OUT fetches bigint, OUT bytes_in bigint,
	OUT bytes_out bigint, OUT cache_hits bigint, OUT cache_misses bigint, OUT fallbacks bigint,
	OUT slot_waits bigint, OUT slot_wait_us bigint, OUT failures bigint, OUT set_searches bigint,
	OUT set_pairs bigint, OUT column_keys bigint, OUT values_pushed_out bigint,
	OUT columns_pushed_out bigint, OUT stats_reset timestamptz)
	RETURNS record
	AS 'MODULE_PATHNAME', 'qsketch_gpu_counts' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _qsketch_gpu_counts() IS 'contents and counters of the GPU worker';

ALTER FUNCTION _qsketch_gpu_counts() RENAME TO "_qsketch_gpu_counts alone";
CREATE VIEW qsketch_stat_gpu AS SELECT * FROM "_qsketch_gpu_counts alone"() AS _qsketch_gpu_counts;
COMMENT ON VIEW qsketch_stat_gpu IS 'what the GPU worker holds now, and its counters since stats_reset';
ALTER FUNCTION "_qsketch_gpu_counts alone"() RENAME TO _qsketch_gpu_counts;
COMMENT ON COLUMN qsketch_stat_gpu.worker_pid IS 'process that owns the GPUs; NULL if there is none';
COMMENT ON COLUMN qsketch_stat_gpu.values_now IS 'sketches, filters and collections of sets that the worker holds';
COMMENT ON COLUMN qsketch_stat_gpu.cached_now IS 'held values that are cached: stored values, and chunks of columns';
COMMENT ON COLUMN qsketch_stat_gpu.cached_bytes IS 'device memory that cached values and columns take';
COMMENT ON COLUMN qsketch_stat_gpu.slots IS 'slots through which backends send keys and requests';
COMMENT ON COLUMN qsketch_stat_gpu.slots_free IS 'slots that no backend uses';
COMMENT ON COLUMN qsketch_stat_gpu.values_made IS 'sketches, filters and collections of sets that were made on a GPU or sent there';
COMMENT ON COLUMN qsketch_stat_gpu.batches IS 'batches of keys that were counted';
COMMENT ON COLUMN qsketch_stat_gpu.keys IS 'keys in the batches that were counted';
COMMENT ON COLUMN qsketch_stat_gpu.lookups IS 'batches of keys that were looked up';
COMMENT ON COLUMN qsketch_stat_gpu.lookup_keys IS 'keys in the batches that were looked up';
COMMENT ON COLUMN qsketch_stat_gpu.merges IS 'merges of two sketches on a GPU';
COMMENT ON COLUMN qsketch_stat_gpu.fetches IS 'sketches and filters that backends fetched';
COMMENT ON COLUMN qsketch_stat_gpu.bytes_in IS 'bytes that backends sent';
COMMENT ON COLUMN qsketch_stat_gpu.bytes_out IS 'bytes that the worker sent to backends';
COMMENT ON COLUMN qsketch_stat_gpu.cache_hits IS 'lookups and searches that found a cached value';
COMMENT ON COLUMN qsketch_stat_gpu.cache_misses IS 'lookups and searches that had to send the value';
COMMENT ON COLUMN qsketch_stat_gpu.fallbacks IS 'values and lookups that stayed on the CPU, or were moved to it, for lack of device memory';
COMMENT ON COLUMN qsketch_stat_gpu.slot_waits IS 'number of times that a backend found no free slot';
COMMENT ON COLUMN qsketch_stat_gpu.slot_wait_us IS 'how long backends waited for a slot, in microseconds';
COMMENT ON COLUMN qsketch_stat_gpu.failures IS 'errors after which a GPU was lost or the worker ended';
COMMENT ON COLUMN qsketch_stat_gpu.set_searches IS 'searches for pairs of sets';
COMMENT ON COLUMN qsketch_stat_gpu.set_pairs IS 'pairs of sets that the worker sent to backends';
COMMENT ON COLUMN qsketch_stat_gpu.column_keys IS 'keys that were read from cached columns';
COMMENT ON COLUMN qsketch_stat_gpu.values_pushed_out IS 'cached values that were evicted from the cache';
COMMENT ON COLUMN qsketch_stat_gpu.columns_pushed_out IS 'chunks of cached columns that were evicted from the cache';
COMMENT ON COLUMN qsketch_stat_gpu.stats_reset IS 'when the counters were last 0';
GRANT SELECT ON qsketch_stat_gpu TO public;

CREATE FUNCTION qsketch_stat_gpu_reset() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_stat_gpu_reset() IS 'set the counters of qsketch_stat_gpu to 0';
REVOKE ALL ON FUNCTION qsketch_stat_gpu_reset() FROM public;

CREATE FUNCTION qsketch_gpu_load("table" regclass, columns name[]) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION qsketch_gpu_load(regclass, name[])
	IS 'copy columns of a table to the GPU; returns the number of pages that need not be read now';

CREATE FUNCTION qsketch_gpu_unload("table" regclass) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION qsketch_gpu_unload(regclass)
	IS 'free the cached columns of a table on the GPU; were there any?';

CREATE FUNCTION _qsketch_gpu_copies(
	OUT "table" regclass, OUT attribute smallint, OUT rows bigint, OUT bytes bigint, OUT pages bigint,
	OUT pages_true bigint, OUT last_used timestamptz, OUT pushed_out integer, OUT pushed_out_by regrole,
	OUT pushed_out_at timestamptz)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'qsketch_gpu_copies' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _qsketch_gpu_copies() IS 'cached columns on the GPU, in this database';

ALTER FUNCTION _qsketch_gpu_copies() RENAME TO "_qsketch_gpu_copies alone";
CREATE VIEW qsketch_gpu_columns AS
	SELECT c."table", a.attname AS "column", c.rows, c.bytes, c.pages, c.pages_true, c.last_used,
		c.pushed_out, c.pushed_out_by, c.pushed_out_at
	FROM "_qsketch_gpu_copies alone"() AS c, pg_catalog.pg_attribute AS a
	WHERE a.attrelid OPERATOR(pg_catalog.=) c."table" AND a.attnum OPERATOR(pg_catalog.=) c.attribute;
COMMENT ON VIEW qsketch_gpu_columns IS 'columns that are cached on a GPU, or had chunks that were evicted from the cache';
ALTER FUNCTION "_qsketch_gpu_copies alone"() RENAME TO _qsketch_gpu_copies;
COMMENT ON COLUMN qsketch_gpu_columns."table" IS 'table whose column is cached';
COMMENT ON COLUMN qsketch_gpu_columns."column" IS 'column that is cached';
COMMENT ON COLUMN qsketch_gpu_columns.rows IS 'keys that are cached: rows in which the column is not NULL';
COMMENT ON COLUMN qsketch_gpu_columns.bytes IS 'device memory that the column takes';
COMMENT ON COLUMN qsketch_gpu_columns.pages IS 'pages that are cached';
COMMENT ON COLUMN qsketch_gpu_columns.pages_true
	IS 'cached pages that are valid by the visibility map alone; a query compares all other cached pages with the table; NULL while another session locks the table';
COMMENT ON COLUMN qsketch_gpu_columns.last_used IS 'when the column last served a query, or was loaded';
COMMENT ON COLUMN qsketch_gpu_columns.pushed_out IS 'chunks that were evicted from the cache since the column was loaded';
COMMENT ON COLUMN qsketch_gpu_columns.pushed_out_by
	IS 'role for which a chunk was last evicted; NULL if no chunk was evicted, or because qsketch.gpu_cache_size was reduced';
COMMENT ON COLUMN qsketch_gpu_columns.pushed_out_at IS 'when a chunk was last evicted from the cache';
GRANT SELECT ON qsketch_gpu_columns TO public;

--
-- Progress and statistics of backends
--

CREATE FUNCTION qsketch_progress_of_processes(
	OUT pid integer, OUT leader_pid integer, OUT datid oid, OUT id bigint, OUT relid oid, OUT command text,
	OUT phase text, OUT device text, OUT workers bigint, OUT pages_total bigint, OUT pages_done bigint,
	OUT keys bigint, OUT sets_total bigint, OUT sets_done bigint, OUT pairs bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_progress_of_processes() IS 'running column scans and calls of qsets_pairs, by process';

ALTER FUNCTION qsketch_progress_of_processes() RENAME TO "qsketch_progress_of_processes alone";
CREATE VIEW qsketch_progress AS
	SELECT coalesce(p.leader_pid, p.pid) AS pid, p.datid, d.datname, p.relid, p.command,
		coalesce(pg_catalog.min(p.phase) FILTER (WHERE p.leader_pid IS NULL), pg_catalog.min(p.phase)) AS phase,
		pg_catalog.string_agg(DISTINCT p.device, ', '::pg_catalog.text ORDER BY p.device) AS device,
		pg_catalog.max(p.workers) OPERATOR(pg_catalog.+) pg_catalog.count(p.leader_pid) AS workers,
		pg_catalog.max(p.pages_total) AS pages_total, pg_catalog.sum(p.pages_done)::pg_catalog.int8 AS pages_done, pg_catalog.sum(p.keys)::pg_catalog.int8 AS keys,
		pg_catalog.max(p.sets_total) AS sets_total, pg_catalog.sum(p.sets_done)::pg_catalog.int8 AS sets_done, pg_catalog.sum(p.pairs)::pg_catalog.int8 AS pairs
	FROM "qsketch_progress_of_processes alone"() AS p LEFT JOIN pg_catalog.pg_database AS d ON d.oid OPERATOR(pg_catalog.=) p.datid
	GROUP BY coalesce(p.leader_pid, p.pid), p.datid, d.datname, p.relid, p.command, p.id;
COMMENT ON VIEW qsketch_progress IS 'running column scans and calls of qsets_pairs and qsketch_gpu_load';
ALTER FUNCTION "qsketch_progress_of_processes alone"() RENAME TO qsketch_progress_of_processes;
COMMENT ON COLUMN qsketch_progress.pid IS 'backend that runs the command';
COMMENT ON COLUMN qsketch_progress.datid IS 'OID of the database of the backend';
COMMENT ON COLUMN qsketch_progress.datname IS 'name of the database of the backend';
COMMENT ON COLUMN qsketch_progress.relid IS 'table that is scanned or loaded';
COMMENT ON COLUMN qsketch_progress.command IS 'column scan, qsets_pairs or qsketch_gpu_load';
COMMENT ON COLUMN qsketch_progress.phase IS 'present phase of the command';
COMMENT ON COLUMN qsketch_progress.device IS 'device on which keys are counted or pairs are found: cpu, gpu or both';
COMMENT ON COLUMN qsketch_progress.workers IS 'parallel workers that take part';
COMMENT ON COLUMN qsketch_progress.pages_total IS 'pages of the table';
COMMENT ON COLUMN qsketch_progress.pages_done IS 'pages that were read';
COMMENT ON COLUMN qsketch_progress.keys IS 'keys that all aggregates have counted; 0 with GROUP BY';
COMMENT ON COLUMN qsketch_progress.sets_total IS 'sets that may have pairs';
COMMENT ON COLUMN qsketch_progress.sets_done IS 'sets whose pairs were searched, or are being searched';
COMMENT ON COLUMN qsketch_progress.pairs IS 'pairs that were found';
GRANT SELECT ON qsketch_progress TO public;

CREATE FUNCTION _qsketch_stat_counts(
	OUT column_scans bigint, OUT pages bigint, OUT pages_all_visible bigint, OUT batches_cpu bigint,
	OUT batches_gpu bigint, OUT keys_cpu bigint, OUT keys_gpu bigint, OUT pair_searches_cpu bigint,
	OUT pair_searches_gpu bigint, OUT pairs bigint, OUT stats_reset timestamptz)
	RETURNS record
	AS 'MODULE_PATHNAME', 'qsketch_stat_counts' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _qsketch_stat_counts() IS 'counters of all backends';

ALTER FUNCTION _qsketch_stat_counts() RENAME TO "_qsketch_stat_counts alone";
CREATE VIEW qsketch_stat AS SELECT * FROM "_qsketch_stat_counts alone"() AS _qsketch_stat_counts;
COMMENT ON VIEW qsketch_stat IS 'counters of all backends since stats_reset';
ALTER FUNCTION "_qsketch_stat_counts alone"() RENAME TO _qsketch_stat_counts;
COMMENT ON COLUMN qsketch_stat.column_scans IS 'column scans';
COMMENT ON COLUMN qsketch_stat.pages IS 'pages that column scans read';
COMMENT ON COLUMN qsketch_stat.pages_all_visible IS 'pages that column scans read and that were all-visible';
COMMENT ON COLUMN qsketch_stat.batches_cpu IS 'batches of keys that the CPU counted';
COMMENT ON COLUMN qsketch_stat.batches_gpu IS 'batches of keys that GPUs counted';
COMMENT ON COLUMN qsketch_stat.keys_cpu IS 'keys that the CPU counted';
COMMENT ON COLUMN qsketch_stat.keys_gpu IS 'keys that GPUs counted';
COMMENT ON COLUMN qsketch_stat.pair_searches_cpu IS 'searches for pairs of sets by the CPU';
COMMENT ON COLUMN qsketch_stat.pair_searches_gpu IS 'searches for pairs of sets by GPUs';
COMMENT ON COLUMN qsketch_stat.pairs IS 'pairs that were found';
COMMENT ON COLUMN qsketch_stat.stats_reset IS 'when the counters were last 0';
GRANT SELECT ON qsketch_stat TO public;

CREATE FUNCTION qsketch_stat_reset() RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_stat_reset() IS 'set the counters of qsketch_stat to 0';
REVOKE ALL ON FUNCTION qsketch_stat_reset() FROM public;

CREATE FUNCTION qsketch_location(sketch qsketch, OUT part text, OUT location text, OUT bytes bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION qsketch_location(qsketch) IS 'device of the tables of a sketch';
