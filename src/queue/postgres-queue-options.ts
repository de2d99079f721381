import type { PostgresPoolConfig } from 'bullmq';

/** The PostgreSQL schema of the queue's tables; the ledger's are elsewhere. */
export const queueSchema = 'queue';

/**
 * Connection settings of the queue. BullMQ renews all locks of a worker through one call, so a connection that
 * hangs would cost every running job its lock: everything is bounded, on both sides.
 */
export function postgresQueueOptions(connectionString: string, max: number): PostgresPoolConfig {
  const { url, options } = takeServerOptions(connectionString);
  return {
    connectionString: url,
    ...(options && { options }),
    schema: queueSchema,
    application_name: 'wallet-ledger-queue',
    max,
    // The watchdog and the jobs come more often: pg's own 10 s would end and open a dozen connections a minute.
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 10_000,
    query_timeout: 15_000,
  };
}

/**
 * BullMQ pins the schema through the connection's `options`, and pg lets the URL win over them: so options that
 * stand in the URL are taken out of it and handed to BullMQ, which adds its own.
 */
function takeServerOptions(connectionString: string): { url: string; options: string | null } {
  if (!URL.canParse(connectionString)) return { url: connectionString, options: null };
  const url = new URL(connectionString);
  const options = url.searchParams.get('options');
  if (options === null) return { url: connectionString, options };
  url.searchParams.delete('options');
  return { url: url.toString(), options };
}
