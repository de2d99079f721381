import { once } from 'node:events';
import { createServer } from 'node:net';
import { listen } from './listen.ts';

/** A TCP port of the loopback address on which nothing listened a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  server.close();
  await once(server, 'close');
  return port;
}
