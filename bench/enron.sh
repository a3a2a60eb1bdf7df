# Sourced by benchmarks of pairs of sets.

# fill_sets TABLE SETS: adds rows (s, e) of sets that follow the paper's description of ENRON.
# Sizes are about 300 to 3200, by a truncated Pareto distribution with exponent 0.97.  Elements are
# drawn from 1.1 million numbers, by Zipf's distribution with exponent 0.8.  Drawing elements takes
# longest, so several sessions draw them.
fill_sets() {
	local part parts
	parts=$(nproc)
	for ((part = 0; part < parts; part++)); do
		psql -Xq -c "SELECT setseed(0.$((part + 10)))" -c "
			INSERT INTO $1
			SELECT DISTINCT s, (1 + (power(1100000, 0.2) - 1) * random()) ^ 5
			FROM (SELECT s, power(-(u * b - u * a - b) / (b * a), -1 / 0.97)::int AS size
				FROM (SELECT s, random() AS u, power(300, 0.97) AS a, power(3200, 0.97) AS b
					FROM generate_series($(($2 * part / parts)) + 1, $(($2 * (part + 1) / parts))) AS s) AS x) AS x,
				LATERAL generate_series(1, size * 27 / 25)" >/dev/null &
	done
	wait
}
