import type pg from 'pg';
import { LedgerError } from '../kernel/errors.ts';
import type { Listener } from '../ledger/connection/keep-listening.ts';
import { requireTriggers } from '../ledger/connection/require-triggers.ts';
import { type Ask, askOn } from './ask-database.ts';
import { wrongArgument } from './check-arguments.ts';
import { libraryError } from './library-error.ts';
import { requireSchema } from './require-schema.ts';

/** Part of pg's Pool that the library uses. Any `pg.Pool` has it. */
export type PgPool = {
  connect(): Promise<unknown>;
  options: { max?: number | undefined };
};

/** Runs SQL with parameters `$1`, `$2` …, as pg's client does. */
export type Query = <Row extends object = Record<string, unknown>>(
  text: string,
  values?: readonly unknown[],
) => Promise<{ rows: Row[]; rowCount: number | null }>;

export type Database = {
  /** Role that the connections log in as. */
  role: string;
  pool: pg.Pool;
  ask: Ask;
  /** Opens a connection that notifications can be received on. */
  listener(): Promise<Listener>;
  close(): Promise<void>;
};

const name = 'wallet-ledger library';
/** One connection listens, and one processes an event while another takes an address. */
const borrowedMin = 3;

/** Connects, and checks that the schema can be used. Throws LedgerError, and leaves nothing open then. */
export async function openDatabase(from: string | PgPool, poolSize: number): Promise<Database> {
  const { pool, listener, close } =
    typeof from === 'string' ? await ownPool(from, poolSize) : borrowedPool(from);
  try {
    const ask = askOn(pool);
    const role = await requireTriggers(pool)
      .then(() => requireSchema(ask))
      .catch((error) => {
        throw libraryError(error, null);
      });
    return { role, pool, ask, listener, close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Opened = Pick<Database, 'pool' | 'listener' | 'close'>;

/** Opens a pool. Imports here what only the pool needs, so that importing the library costs little. */
async function ownPool(url: string, max: number): Promise<Opened> {
  const [
    { default: driver },
    { openClient, ...session },
    { ownSession },
    { requireStrongLogin },
    { databaseUrl },
  ] = await Promise.all([
    import('pg'),
    import('../ledger/connection/open-client.ts'),
    import('../kernel/own-session.ts'),
    import('../ledger/connection/require-strong-login.ts'),
    import('../config/link-parsers.ts'),
  ]);
  const { data: connectionString, error } = databaseUrl.safeParse(url);
  if (connectionString === undefined) {
    const expected = error?.issues.map(({ message }) => message).join('; ');
    throw new LedgerError('usage', `the database must be given as ${expected}`, {
      cure: 'correct the address that openLedger() gets',
    });
  }
  requireStrongLogin(connectionString);
  const pool = new driver.Pool({
    ...ownSession(connectionString, session.sessionOptions('main')),
    max,
    application_name: name,
    connectionTimeoutMillis: session.connectionTimeoutMillis,
    onConnect: requireTriggers,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  });
  // Without a listener, the error of an idle connection would end the process.
  pool.on('error', () => undefined);
  return {
    pool,
    listener: () => openClient({ connectionString, name, wallet: 'main', isPatient: true }),
    close: () => pool.end(),
  };
}

function borrowedPool(given: PgPool): Opened {
  requirePool(given);
  const { options } = given;
  if (options.max !== undefined && options.max < borrowedMin) {
    throw new LedgerError('usage', `the pool has ${options.max} connections at most`, {
      cure: `give openLedger() a pool with max of at least ${borrowedMin}: one connection listens all the time`,
    });
  }
  const pool = given as unknown as pg.Pool;
  return {
    pool,
    async listener() {
      const client = await pool.connect();
      client.on('error', () => undefined);
      return {
        query: (statement) => client.query(statement),
        on: (event, act) => client.on(event, act),
        once: (event, act) => client.once(event, act),
        // Closes the connection: it still listens, so it must not go back to the pool.
        end: async () => client.release(true),
      };
    },
    close: async () => undefined,
  };
}

function requirePool(given: { connect?: unknown; options?: unknown } | null | undefined): void {
  const { connect, options } = given ?? {};
  if (typeof connect === 'function' && typeof options === 'object' && options !== null) return;
  throw wrongArgument('the database must be a connection string or a pg.Pool');
}
