// All pairs of kosarak's sessions by DuckDB's self-join, for sets.sh: the number of
// pairs, the sum of their counts, a sum over all ids, and the milliseconds.
//
//	node sets-duckdb.js session.csv THREADS MOST_ID MIN_COUNT
const { DuckDBInstance } = require('@duckdb/node-api');

async function main([file, threads, most, least]) {
	const instance = await DuckDBInstance.create(':memory:', { threads });
	const connection = await instance.connect();
	await connection.run(`CREATE TABLE session AS SELECT column0 AS id, column1 AS item
		FROM read_csv('${file}', header = false) WHERE column0 <= ${most}`);
	let best = Infinity;
	let answer;
	for (let turn = 0; turn < (most > 10000 ? 1 : 3); turn++) {
		const start = process.hrtime.bigint();
		const result = await connection.runAndReadAll(`SELECT count(*), sum(common), sum(a * common + b)
			FROM (SELECT x.id AS a, y.id AS b, count(*) AS common FROM session AS x JOIN session AS y
				ON x.item = y.item AND x.id < y.id GROUP BY 1, 2 HAVING count(*) >= ${least}) AS p`);
		best = Math.min(best, Number(process.hrtime.bigint() - start) / 1e6);
		answer = result.getRows()[0].join(' ');
	}
	console.log(answer, best.toFixed(0));
}

main(process.argv.slice(2)).catch(error => { console.error(error.message); process.exit(1); });
