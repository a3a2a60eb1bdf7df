-- Prints the measurements of run_benchmarks(), and fails if a result is wrong.  If "above" is
-- set, prints only measurements whose ratio exceeds "above", and the number of all other
-- measurements.
CREATE TABLE results AS SELECT * FROM benchmark_results();
\qecho '| what | query | ms | against | ms | ratio | target | |'
\qecho '|---|---|---:|---|---:|---:|---:|---|'
\if :{?above}
SELECT line FROM results WHERE ratio > :above ORDER BY id;
\qecho
SELECT format('The ratio of the other %s is %s and less.', count(*), :'above') FROM results WHERE ratio <= :above;
\else
SELECT line FROM results ORDER BY id;
\endif
DO $$ BEGIN
    ASSERT (SELECT bool_and(correct) FROM results), 'a result is wrong';
END $$;
