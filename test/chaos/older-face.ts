import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../support/listen.ts';

const parameter = Buffer.from('server_version\0');
const shownVersion = '14.1';

/**
 * A port at which the server claims to be PostgreSQL 14. `pg_dump` refuses a server newer than itself, and the
 * embedded server comes without one. Newer servers answer its queries for version 14 just as well.
 */
export async function startOlderFace(
  port: number,
): Promise<{ port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    let isGreeted = false;
    far.on('data', (chunk: Buffer) => {
      if (!isGreeted) isGreeted = writeVersion(chunk);
      near.write(chunk);
    });
  });
  return {
    port: await listen(server),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** In place and with the same length, so that the surrounding message stays valid. */
function writeVersion(chunk: Buffer): boolean {
  const at = chunk.indexOf(parameter);
  if (at < 0) return false;
  const from = at + parameter.length;
  const end = chunk.indexOf(0, from);
  chunk.write(shownVersion.padEnd(end - from).slice(0, end - from), from, 'latin1');
  return true;
}
