-- Prints the measurements of run_benchmarks(), and fails if a result is wrong.
CREATE TABLE results AS SELECT * FROM benchmark_results();
\qecho '| what | query | ms | against | ms | ratio | target | |'
\qecho '|---|---|---:|---|---:|---:|---:|---|'
SELECT line FROM results ORDER BY id;
DO $$ BEGIN
    ASSERT (SELECT bool_and(correct) FROM results), 'a result is wrong';
END $$;
