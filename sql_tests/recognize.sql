--
-- Aggregates are told by what they compute, not by their names: whoever owns
-- the extension may add others to it, called as he likes.
--
-- In a database of its own, whose owner is no superuser.
CREATE ROLE recognize_owner;
CREATE DATABASE regress_recognize OWNER recognize_owner;
\set tests :DBNAME
\c regress_recognize
\set ECHO none
SET ROLE recognize_owner;
CREATE SCHEMA s;
CREATE EXTENSION qsketch SCHEMA public;
RESET ROLE;
\getenv dir PG_ABS_SRCDIR
\set file :dir '/sql/include/columnscan.psql'
\i :file
\set ECHO all
CREATE TABLE events (k bigint, small integer, t text, spot point, weight bigint, space box) WITH (parallel_workers = 2);
INSERT INTO events SELECT i % 100, i % 7, i % 10, point(i, i), i % 5, box(point(i, i), point(0, 0)) FROM generate_series(1, 5000) AS i;
ANALYZE events;

-- another aggregate of the same name in the extension
SET ROLE recognize_owner;
CREATE AGGREGATE s.qsketch_agg(bigint) (SFUNC = int8pl, STYPE = int8, INITCOND = '0');
CREATE AGGREGATE s.qsketch_agg(text) (SFUNC = textcat, STYPE = text, INITCOND = '');
CREATE AGGREGATE s.qsketch_agg(point) (SFUNC = point_add, STYPE = point, INITCOND = '(0,0)');
CREATE AGGREGATE s.qsketch_agg(*) (SFUNC = int8inc, STYPE = int8, INITCOND = '0');
CREATE FUNCTION s.take(s events, e events) RETURNS events LANGUAGE sql AS 'SELECT $2';
CREATE FUNCTION s.take(s box, e box) RETURNS box LANGUAGE sql AS 'SELECT $1';
CREATE AGGREGATE s.qsketch_agg(events) (SFUNC = s.take, STYPE = events);
CREATE AGGREGATE s.qsketch_agg(box) (SFUNC = s.take, STYPE = box, INITCOND = '(1,1),(0,0)');
ALTER EXTENSION qsketch ADD AGGREGATE s.qsketch_agg(bigint);
ALTER EXTENSION qsketch ADD AGGREGATE s.qsketch_agg(text);
ALTER EXTENSION qsketch ADD AGGREGATE s.qsketch_agg(point);
ALTER EXTENSION qsketch ADD AGGREGATE s.qsketch_agg(*);
ALTER EXTENSION qsketch ADD AGGREGATE s.qsketch_agg(events);
ALTER EXTENSION qsketch ADD AGGREGATE s.qsketch_agg(box);
RESET ROLE;
SELECT s.qsketch_agg(k) FROM events;
SELECT length(s.qsketch_agg(t)) FROM events;
SELECT s.qsketch_agg(spot) FROM events;
SELECT s.qsketch_agg(*) FROM events;
SELECT (s.qsketch_agg(e)).t IS NOT NULL FROM events AS e;
SELECT s.qsketch_agg(box(spot)), s.qsketch_agg(space) FROM events;
SELECT pg_temp.scans('SELECT s.qsketch_agg(k) FROM events') AS scans;
SELECT pg_temp.scans('SELECT s.qsketch_agg(k), qsketch_agg(k) FROM events') AS scans;
SELECT s.qsketch_agg(k), qsketch_total(qsketch_agg(k)) FROM events;

-- made of other functions of the extension than qsketch_agg
CREATE FUNCTION total_of(qsketch) RETURNS bigint LANGUAGE sql AS 'SELECT qsketch_total($1)';
CREATE FUNCTION add_all(qsketch, bigint) RETURNS qsketch LANGUAGE sql AS 'SELECT coalesce(qsketch_add($1, $2), qsketch_add(qsketch_new(), $2))';
CREATE AGGREGATE s.without_final(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine);
CREATE AGGREGATE s.without_combine(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, FINALFUNC = _qsketch_agg_final);
CREATE AGGREGATE s.own_final(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = total_of);
CREATE AGGREGATE s.own_trans(bigint) (SFUNC = add_all, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final);
CREATE AGGREGATE s.with_initial(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final,
	INITCOND = 'qsketch:UVNLAQQBAAADAAoAtfSAdACAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
CREATE AGGREGATE s.of_merge(qsketch) (SFUNC = _qsketch_merge_trans, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final);
CREATE AGGREGATE s.the_same(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
CREATE AGGREGATE s.the_same(bigint, bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
CREATE AGGREGATE s.the_same(varchar) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
SELECT name, pg_temp.scans(format('SELECT s.%s(k) FROM events', name)) AS scans
FROM unnest('{without_final,without_combine,own_final,own_trans,with_initial,the_same}'::text[]) AS name;
SELECT qsketch_total(s.without_final(k)), qsketch_total(s.without_combine(k)), s.own_final(k), qsketch_total(s.own_trans(k)) FROM events;
SELECT s.the_same(k) = qsketch_agg(k), s.the_same(k, weight) = qsketch_agg(k, weight), s.the_same(t::varchar) = qsketch_agg(t) FROM events;
SELECT * FROM pg_temp.same('SELECT s.the_same(k), s.the_same(k, weight), qsketch_agg(k) FROM events');

-- what the aggregate's owner may not call, the scan does not call for him
SET ROLE recognize_owner;
CREATE AGGREGATE s.of_owner(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final);
RESET ROLE;
SELECT pg_temp.scans('SELECT s.of_owner(k) FROM events') AS scans, (SELECT qsketch_total(s.of_owner(k)) FROM events);
REVOKE EXECUTE ON FUNCTION _qsketch_agg_trans(qsketch, anycompatible) FROM public, recognize_owner;
SELECT pg_temp.error_of('SELECT s.of_owner(k) FROM events'), pg_temp.error_of('SELECT qsketch_agg(k) FROM events');
SET qsketch.enable_columnscan = off;
SELECT pg_temp.error_of('SELECT s.of_owner(k) FROM events'), pg_temp.error_of('SELECT qsketch_agg(k) FROM events');
RESET qsketch.enable_columnscan;
GRANT EXECUTE ON FUNCTION _qsketch_agg_trans(qsketch, anycompatible) TO public;

-- a combine function of one's own sees whole sketches, in all plans
CREATE FUNCTION s.keep(a qsketch, b qsketch) RETURNS qsketch LANGUAGE plpgsql PARALLEL SAFE AS $$
BEGIN
	IF b IS NULL THEN RETURN a; END IF;
	IF qsketch_total(b) < 1 THEN RAISE 'no sketch'; END IF;
	RETURN CASE WHEN a IS NULL THEN b ELSE qsketch_merge(qsketch_merge(a, b), qsketch_new()) END;
END $$;
CREATE AGGREGATE s.kept(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = s.keep, FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
CREATE AGGREGATE s.kept(bigint, qsketch) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = qsketch_merge, FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
SET max_parallel_workers_per_gather = 2;
SELECT pg_temp.plan_has('SELECT s.kept(k) FROM events', 'Partial Aggregate') AS partial;
SELECT s.kept(k) = qsketch_agg(k), qsketch_agg(k) = s.kept(k) FROM events;
SELECT s.kept(k, qsketch_new('sub_warp', '256kB')) = qsketch_agg(k, qsketch_new('sub_warp', '256kB')) FROM events;
SELECT count(*), sum(qsketch_total(sk)) FROM (SELECT s.kept(k) AS sk FROM events GROUP BY small) AS g;
SET parallel_leader_participation = off;
SELECT s.kept(k) = qsketch_agg(k), s.the_same(k) = qsketch_agg(k) FROM events;
-- our combine function as a transition function
CREATE AGGREGATE s.combining(qsketch) (SFUNC = _qsketch_agg_combine, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine);
SELECT s.combining(sk) = (SELECT qsketch_agg(k) FROM events) FROM (SELECT qsketch_agg(k) AS sk FROM events GROUP BY small) AS g;

-- In a moving aggregate all that gets a state is ours: PL/pgSQL keeps what it may change, and frees it.  So its
-- type is internal, of which only superusers declare aggregates.
SET ROLE recognize_owner;
CREATE AGGREGATE s.internal(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch,
	MSFUNC = _qsketch_moving_trans, MINVFUNC = _qsketch_agg_inverse, MSTYPE = internal, MFINALFUNC = _qsketch_moving_final);
RESET ROLE;
CREATE FUNCTION s.back(a qsketch, k anyelement) RETURNS qsketch LANGUAGE plpgsql AS $$ BEGIN RETURN a; END $$;
CREATE FUNCTION s.anew(a qsketch, k anyelement) RETURNS qsketch LANGUAGE plpgsql AS $$ BEGIN RETURN qsketch_new(); END $$;
SELECT qsketch_new() AS empty \gset
CREATE AGGREGATE s.moved(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch,
	MSFUNC = _qsketch_agg_trans, MINVFUNC = _qsketch_agg_trans, MSTYPE = qsketch, MINITCOND = :'empty');
CREATE AGGREGATE s.back_out(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch,
	MSFUNC = _qsketch_agg_trans, MINVFUNC = s.back, MSTYPE = qsketch, MINITCOND = :'empty');
CREATE AGGREGATE s.back_in(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch,
	MSFUNC = s.back, MINVFUNC = _qsketch_agg_trans, MSTYPE = qsketch, MINITCOND = :'empty');
CREATE AGGREGATE s.anew_out(bigint, bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch,
	MSFUNC = _qsketch_agg_trans, MINVFUNC = qsketch_remove, MSTYPE = qsketch, MINITCOND = :'empty');
CREATE AGGREGATE s.merge_out(qsketch) (SFUNC = _qsketch_merge_trans, STYPE = qsketch,
	MSFUNC = _qsketch_merge_trans, MINVFUNC = s.anew, MSTYPE = qsketch, MINITCOND = :'empty');
CREATE AGGREGATE s.combine_out(qsketch) (SFUNC = _qsketch_merge_trans, STYPE = qsketch,
	MSFUNC = _qsketch_agg_combine, MINVFUNC = s.back, MSTYPE = qsketch, MINITCOND = :'empty');
CREATE AGGREGATE s.own_moves(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch,
	MSFUNC = s.anew, MINVFUNC = s.back, MSTYPE = qsketch, MINITCOND = :'empty');
SELECT call, pg_temp.error_of(format('SELECT count(qsketch_total(sk)) FROM (SELECT s.%s OVER
	(ORDER BY k ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS sk FROM events) AS e', call))
FROM unnest('{moved(k),back_out(k),back_in(k),"anew_out(k, weight)",merge_out(qsketch_new()),combine_out(qsketch_new()),own_moves(k)}'::text[]) AS call;
SELECT qsketch_total(s.back_out(k)) FROM events;
-- also if its owner replaces the aggregate while a query runs: the query goes on calling the functions that it began with
CREATE FUNCTION s.replaced(name text, inverse text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE c refcursor; total bigint;
BEGIN
	OPEN c FOR EXECUTE format('SELECT sum(qsketch_total(sk)) FROM (SELECT s.%s(k) OVER
		(ORDER BY k ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS sk FROM events) AS e', name);
	EXECUTE format('CREATE OR REPLACE AGGREGATE s.%s(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch', name) || CASE
		WHEN inverse <> '' THEN format(', MSFUNC = _qsketch_agg_trans, MINVFUNC = %s, MSTYPE = qsketch, MINITCOND = %L', inverse, qsketch_new())
		ELSE '' END || ')';
	FETCH c INTO total;
	RETURN total;
EXCEPTION WHEN feature_not_supported THEN RETURN sqlerrm;
END $$;
SELECT name, inverse, s.replaced(name, inverse)
FROM (VALUES ('back_out', '_qsketch_agg_trans'), ('back_out', ''), ('back_in', '_qsketch_agg_trans'), ('moved', ''), ('moved', 's.back'), ('own_moves', '_qsketch_agg_trans')) AS v (name, inverse);
SELECT qsketch_total(s.back_out(k) OVER (ORDER BY k ROWS UNBOUNDED PRECEDING)) FROM events LIMIT 3;

-- A plan that is kept is made anew when its aggregate is replaced or dropped, or one of the functions of which that
-- is made.
SELECT format('CREATE FUNCTION s.adds(qsketch, bigint) RETURNS qsketch LANGUAGE c PARALLEL SAFE AS %L, %L', probin, prosrc)
FROM pg_proc WHERE oid = '_qsketch_agg_trans(qsketch, anycompatible)'::regprocedure \gexec
CREATE AGGREGATE s.planned(bigint) (SFUNC = s.adds, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
SET plan_cache_mode = force_generic_plan;
SET max_parallel_workers_per_gather = 0;
PREPARE serial AS SELECT qsketch_total(s.planned(k)) AS total FROM events HAVING qsketch_total(s.planned(k)) > 1;
SET parallel_leader_participation = on;
PREPARE groups AS SELECT sum(total) AS total FROM (SELECT qsketch_total(s.planned(k)) AS total FROM events GROUP BY small) AS g;
CREATE FUNCTION pg_temp.executed() RETURNS TABLE (name text, scanned boolean, total text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH name IN ARRAY '{serial,groups}'::text[] LOOP
		scanned := pg_temp.scans('EXECUTE ' || name) > 0;
		EXECUTE 'EXECUTE ' || name INTO total;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM pg_temp.executed();
SET max_parallel_workers_per_gather = 2;
DISCARD PLANS;
SELECT * FROM pg_temp.executed();
CREATE OR REPLACE FUNCTION s.adds(s qsketch, k bigint) RETURNS qsketch LANGUAGE sql PARALLEL SAFE AS 'SELECT qsketch_add(coalesce($1, qsketch_new()), $2, 2)';
SELECT * FROM pg_temp.executed();
CREATE OR REPLACE AGGREGATE s.planned(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
SELECT * FROM pg_temp.executed();
CREATE OR REPLACE AGGREGATE s.planned(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = s.keep, FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
SELECT * FROM pg_temp.executed();
-- An aggregate that is replaced after its query was planned: by a function that the planner calls for the table behind it.
SET ROLE recognize_owner;
CREATE AGGREGATE s.late(bigint) (SFUNC = _qsketch_agg_trans, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE);
CREATE FUNCTION s.replace_late(trans text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE AGGREGATE s.late(bigint) (SFUNC = %s, STYPE = qsketch, COMBINEFUNC = _qsketch_agg_combine, FINALFUNC = _qsketch_agg_final, PARALLEL = SAFE)', trans);
	RETURN 50;
END $$;
CREATE FUNCTION s.when_planned() RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN s.replace_late('add_all'); END $$;
RESET ROLE;
SELECT pg_temp.scans('SELECT s.late(k) FROM events') AS scans;
SELECT pg_temp.error_of('SELECT qsketch_total(sk) FROM (SELECT s.late(k) AS sk FROM events OFFSET 0) AS s, (SELECT count(*) FROM events WHERE k < s.when_planned() OFFSET 0) AS e');
DROP AGGREGATE s.planned(bigint);
SELECT pg_temp.error_of('EXECUTE serial');

\c :tests
DROP DATABASE regress_recognize;
DROP ROLE recognize_owner;
