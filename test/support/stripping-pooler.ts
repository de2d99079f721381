import { connect, createServer } from 'node:net';
import { afterAll } from 'vitest';
import { listen } from './listen.ts';
import { errorResponse } from './tcp-gate.ts';

/**
 * A proxy before a PostgreSQL that acts like PgBouncer; returns its address. It passes on only the user, the database
 * and the name of a connection: other parameters are dropped, or refused with PgBouncer's message.
 */
export async function openPooler(target: string, does: 'ignore' | 'refuse'): Promise<string> {
  const { hostname, port } = new URL(target);
  const server = createServer((near) => {
    near.on('error', () => undefined);
    near.once('data', (startup) => {
      const { passed, others } = readStartup(startup);
      if (does === 'refuse' && others.length > 0) {
        const M = `unsupported startup parameter: ${others[0]}`;
        near.end(errorResponse({ S: 'FATAL', C: '08P01', M }));
        return;
      }
      const far = connect(Number(port), hostname, () => far.write(passed));
      far.on('error', () => near.destroy());
      near.on('close', () => far.destroy());
      near.pipe(far).pipe(near);
    });
  });
  const url = new URL(target);
  url.host = `127.0.0.1:${await listen(server)}`;
  afterAll(() => void server.close());
  return url.toString();
}

/** Splits the first message of protocol 3.0: its length, the version, then pairs of zero-terminated texts. */
function readStartup(message: Buffer): { passed: Buffer; others: string[] } {
  const texts = message
    .subarray(8, message.readInt32BE(0) - 2)
    .toString()
    .split('\0');
  const pairs = texts.flatMap((name, at) => (at % 2 === 0 ? [[name, texts[at + 1] ?? '']] : []));
  const isKnown = (name = '') =>
    ['user', 'database', 'client_encoding', 'application_name'].includes(name);
  const body = Buffer.from(
    `${pairs
      .filter(([name]) => isKnown(name))
      .map((pair) => `${pair.join('\0')}\0`)
      .join('')}\0`,
  );
  const head = Buffer.alloc(8);
  head.writeInt32BE(body.length + 8);
  message.copy(head, 4, 4, 8);
  const others = pairs.map(([name = '']) => name).filter((name) => name !== '' && !isKnown(name));
  return { passed: Buffer.concat([head, body]), others };
}
