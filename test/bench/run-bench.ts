/**
 * `npm run bench -- [--quick] [--only abc] [--json FILE]`: measures the program and floors in the same run, prints one
 * table and writes all figures as JSON. Needs only Node and npm. Exits with 1 if a target is missed or a part fails;
 * the figures of the other parts are kept.
 */
import { writeFileSync } from 'node:fs';
import { arch, cpus, platform, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { benchParts } from './bench-parts.ts';
import { type FigureRow, toFigureRow } from './figures.ts';
import { formatTable } from './format-table.ts';
import { openBench } from './open-bench.ts';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    json: { type: 'string', default: 'bench.json' },
  },
});

const bench = await openBench(options.quick);
const rows: FigureRow[] = [];
let hasFailed = false;
const startedAt = new Date();
try {
  for (const part of benchParts) {
    const letters = [...part.letters].filter(
      (each) => !options.only || options.only.includes(each),
    );
    if (letters.length === 0) continue;
    bench.say(`${part.letters}: ${part.title}`);
    try {
      const figures = await part.run(bench);
      rows.push(...figures.map(toFigureRow));
    } catch (error) {
      hasFailed = true;
      bench.say(`  ${part.letters} failed: ${error instanceof Error ? error.stack : error}`);
    }
  }
} finally {
  await bench.close();
}
process.stdout.write(`${formatTable(rows)}\n`);
const machine = `${cpus().length} cores (${cpus()[0]?.model}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()}-${arch()}, Node ${process.version}`;
writeFileSync(
  options.json,
  `${JSON.stringify({ startedAt, machine, isQuick: options.quick, figures: rows }, null, 2)}\n`,
);
process.exitCode = hasFailed || rows.some((row) => row.isReached === false) ? 1 : 0;
