import { randomBytes } from 'node:crypto';
import { startEmbeddedServer } from '../support/embedded-server.ts';
import { queryOnce } from '../support/on-database.ts';
import type { Bench } from './bench.ts';

/** Like a production server: with full durability. */
const serverSettings = [
  'max_connections=200',
  'shared_buffers=256MB',
  'max_wal_size=4GB',
  'checkpoint_timeout=15min',
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'shared_preload_libraries=pg_stat_statements',
];

const runsOfFigure = 3;

/** Starts the PostgreSQL of the bench. `close` stops it and closes everything that the parts have opened. */
export async function openBench(isQuick: boolean): Promise<Bench & { close(): Promise<void> }> {
  const server = await startEmbeddedServer(serverSettings);
  const closers: (() => Promise<unknown> | unknown)[] = [() => server.close()];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void close().finally(() => process.exit(130)));
  }
  return {
    isQuick,
    runs: isQuick ? 1 : runsOfFigure,
    async database() {
      const url = new URL(server.url);
      url.pathname = `/bench_${randomBytes(6).toString('hex')}`;
      await queryOnce(server.url, `create database ${url.pathname.slice(1)} template template0`);
      return url.toString();
    },
    async dropDatabase(connectionString) {
      const name = new URL(connectionString).pathname.slice(1);
      await queryOnce(server.url, `drop database if exists ${name} with (force)`);
    },
    onEnd: (closer) => closers.push(closer),
    say: (line) => process.stderr.write(`${line}\n`),
    close,
  };
}
