// One query by DuckDB, for bench-stock.sh: the milliseconds of its last run, and the
// first value of its answer.
//
//	node stock-duckdb.js DATABASE THREADS RUNS QUERY
const { DuckDBInstance } = require('@duckdb/node-api');

async function main([database, threads, runs, query]) {
	const instance = await DuckDBInstance.create(database, { threads });
	const connection = await instance.connect();
	let ms;
	let answer;
	for (let run = 0; run < runs; run++) {
		const start = process.hrtime.bigint();
		const rows = (await connection.runAndReadAll(query)).getRows();
		ms = Number(process.hrtime.bigint() - start) / 1e6;
		answer = rows.length ? rows[0][0] : '';
	}
	console.log(ms.toFixed(2), String(answer));
	connection.closeSync();
	instance.closeSync();
}

main(process.argv.slice(2)).catch(error => { console.error(error.message); process.exit(1); });
