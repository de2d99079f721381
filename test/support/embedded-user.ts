// A process that uses the embedded database: prints `open <connection string>`, and closes on a line from its parent.
import { once } from 'node:events';
import { openEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';

const say = (fields: Record<string, unknown>, message: string) => {
  process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
};
const [dataDir = ''] = process.argv.slice(2);
const database = await openEmbeddedPostgres({
  dataDir,
  log: { debug: say, info: say, warn: say, error: say },
});
process.stdout.write(`open ${database.connectionString}\n`);
await once(process.stdin, 'data');
await database.close();
process.exitCode = 0;
process.stdin.destroy();
