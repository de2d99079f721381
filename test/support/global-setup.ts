import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { silentLog } from '../../src/kernel/log.ts';
import { connectLedger, type Ledger } from '../../src/ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../../src/ledger/connection/migrate-ledger.ts';
import { describeBookTools } from './book-tools.ts';
import { postgresImage, redisImage } from './container-images.ts';
import {
  hasImage,
  startPostgresContainer,
  startRedisContainer,
  type TestServer,
} from './containers.ts';
import { startEmbeddedServer } from './embedded-server.ts';
import { closeServer, listen } from './listen.ts';
import { queryOnce } from './on-database.ts';
import { chromiumProgram } from './open-chromium.ts';
import { toolsFolder } from './postgres-tools.ts';
import { redisProgram } from './redis-program.ts';

const given = {
  postgres: process.env['TEST_DATABASE_URL'] && 'TEST_DATABASE_URL',
  redis: ['TEST_REDIS_URL', 'REDIS_URL'].find((name) => process.env[name]),
};
const opened: Promise<TestServer | null>[] = [];

/**
 * Prints the servers of the run and serves them to the test files, which request them under TEST_SERVER_BROKER: the
 * address of the one PostgreSQL, started at the first request; that of a Redis for the caller, if there is one; and
 * the name of the database from which tests copy theirs.
 */
export async function setup(): Promise<() => Promise<void>> {
  const [postgresInDocker, redisInDocker] = await Promise.all([
    !given.postgres && hasImage(postgresImage),
    !given.redis && hasImage(redisImage),
  ]);
  process.stdout.write(
    `Tests use ${describePostgres(postgresInDocker)}, ${describeRedis(redisInDocker)}, ${describeTools()}, ${describeBookTools()}, ${describeChromium()}\n`,
  );
  const postgres = createPostgresOffer(postgresInDocker);
  const offers: Record<string, () => Promise<TestServer | null>> = {
    '/postgres': postgres,
    '/template': createTemplateOffer(postgres),
    '/redis': redisInDocker ? createRedisOffer() : async () => null,
  };
  const broker = createServer((request, response) => {
    const offer = offers[request.url ?? '']?.() ?? Promise.resolve(null);
    opened.push(offer);
    offer.then(
      (server) => response.writeHead(server ? 200 : 204).end(server?.url),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  // Idle connections stay open: a busy caller might send its next request at the moment of the close.
  broker.keepAliveTimeout = 0;
  const port = await listen(broker);
  process.env['TEST_SERVER_BROKER'] = `http://127.0.0.1:${port}`;
  return async () => {
    await closeServer(broker);
    const servers = new Set(await Promise.all(opened.map((offer) => offer.catch(() => null))));
    await Promise.allSettled([...servers].map((server) => server?.close()));
  };
}

function createPostgresOffer(inDocker: boolean): () => Promise<TestServer> {
  const start = async () => (inDocker && (await startPostgresContainer())) || startEmbeddedServer();
  let server: Promise<TestServer> | undefined;
  return () => (server ??= start());
}

/** The name of a database with the program's schema, created at the first request and copied for others. */
function createTemplateOffer(postgres: () => Promise<TestServer>): () => Promise<TestServer> {
  const make = async (): Promise<TestServer> => {
    const server = given.postgres
      ? (process.env['TEST_DATABASE_URL'] ?? '')
      : (await postgres()).url;
    const name = `wallet_ledger_template_${randomBytes(8).toString('hex')}`;
    await queryOnce(server, `create database ${name} template template0`);
    const url = new URL(server);
    url.pathname = `/${name}`;
    const ledger = connectLedger({ connectionString: url.toString(), poolSize: 1, log: silentLog });
    await migrateLedger(ledger);
    await compactCatalogs(ledger);
    await ledger.close();
    const close = async () => {
      if (given.postgres) await queryOnce(server, `drop database ${name} with (force)`);
    };
    return { url: name, close };
  };
  let template: Promise<TestServer> | undefined;
  return () => (template ??= make());
}

/**
 * Removes the rows that the migrations have replaced in PostgreSQL's own tables: more than half of what each copy would
 * copy. The ledger's tables stay as a migration leaves them, never vacuumed, because plans depend on it.
 */
async function compactCatalogs({ pool }: Ledger): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(`
    select oid::regclass::text as name from pg_class
     where relkind = 'r' and relnamespace = 'pg_catalog'::regnamespace and not relisshared`);
  for (const { name } of rows) await pool.query(`vacuum full ${name}`);
}

/** If the first one does not start, no other is tried. */
function createRedisOffer(): () => Promise<TestServer | null> {
  let first: Promise<TestServer | null> | undefined;
  return () => {
    if (first !== undefined) return first.then((works) => works && startRedisContainer());
    first = startRedisContainer();
    return first;
  };
}

function describePostgres(inDocker: boolean): string {
  if (given.postgres) return `the PostgreSQL of ${given.postgres}`;
  return inDocker ? `PostgreSQL in a container of ${postgresImage}` : 'an embedded PostgreSQL';
}

function describeRedis(inDocker: boolean): string {
  if (given.redis) return `the Redis of ${given.redis}`;
  if (inDocker) return `Redis in containers of ${redisImage}`;
  const program = redisProgram();
  return program
    ? `Redis of ${program}`
    : 'no Redis: tests named "on Redis" are skipped (no TEST_REDIS_URL, REDIS_URL, Docker engine or redis-server program)';
}

function describeTools(): string {
  return toolsFolder
    ? `PostgreSQL's tools of ${toolsFolder}`
    : `no PostgreSQL's tools: tests named "with PostgreSQL's own tools" are skipped (no pg_basebackup and pg_dump)`;
}

function describeChromium(): string {
  const program = chromiumProgram();
  return program
    ? `Chromium of ${program}`
    : 'no Chromium: tests named "in Chromium" are skipped (no chromium or google-chrome program)';
}
