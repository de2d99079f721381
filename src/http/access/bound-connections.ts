import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { isOpenPath } from './admit-request.ts';
import { clientKey } from './client-address.ts';

/** `isSpare`: beyond the ordinary limit, so only public paths are answered. `busy`: number of requests in progress. */
type Connection = {
  socket: Socket;
  address: string;
  openedAt: number;
  busy: number;
  isSpare: boolean;
};

const connectionsMax = 1_000;
const connectionsPerAddressMax = 256;
/** Connections reserved for `/healthz` and `/readyz` while all others are busy. */
const spareMax = 64;
/** Time that a new connection has for its first request before it counts as idle. */
const settlingMs = 250;
/** Upper bound of pipelined requests per connection. Browsers and scrapers wait for each answer. */
const sentAheadMax = 4;
const retryAfterSeconds = 5;

/**
 * Bounds the server's connections, in total and per address. A new connection replaces the oldest idle one; if none is
 * idle, it may request public paths only.
 */
export function boundConnections(
  server: Server,
  listener: RequestListener,
  onRefused: () => void,
): void {
  const admit = createAdmitter(onRefused);
  const bySocket = new WeakMap<Socket, Connection>();

  server.on('connection', (socket: Socket) => {
    const connection = admit(socket);
    if (connection) bySocket.set(socket, connection);
    else socket.destroy();
  });

  server.on('request', (request, response) => {
    const connection = bySocket.get(request.socket);
    // Limits pipelining: Node parses every request of a packet at once. A client that never reads the answers would
    // fill the memory.
    if (!connection || connection.busy >= sentAheadMax) {
      request.socket.destroy();
      return;
    }
    connection.busy += 1;
    response.once('close', () => {
      connection.busy -= 1;
    });
    if (connection.isSpare) response.setHeader('Connection', 'close');
    if (!connection.isSpare || isOpenPath(request.url ?? '')) return listener(request, response);
    onRefused();
    response.writeHead(503, { 'Retry-After': String(retryAfterSeconds) });
    response.end('too many connections\n');
  });
}

/** Returns the function that admits a new socket; it returns null for a socket that has to be closed. */
function createAdmitter(onRefused: () => void): (socket: Socket) => Connection | null {
  const ordinary = new Map<string, Set<Connection>>();
  const spare = new Set<Connection>();
  let count = 0;

  function forget(connection: Connection): void {
    if (spare.delete(connection)) return;
    const own = ordinary.get(connection.address);
    if (!own?.delete(connection)) return;
    count -= 1;
    if (own.size === 0) ordinary.delete(connection.address);
  }

  /** Returns false when every connection is busy or new. */
  function closeOldestWaiting(connections: Iterable<Connection>, settling = settlingMs): boolean {
    for (const connection of connections) {
      if (connection.busy > 0 || performance.now() - connection.openedAt < settling) continue;
      forget(connection);
      connection.socket.destroy();
      onRefused();
      return true;
    }
    return false;
  }

  function hasRoom(address: string): boolean {
    const own = ordinary.get(address);
    if (own && own.size >= connectionsPerAddressMax) return closeOldestWaiting(own);
    if (count < connectionsMax) return true;
    const largestFirst = [...ordinary.values()].sort((a, b) => b.size - a.size);
    return largestFirst.some((group) => closeOldestWaiting(group));
  }

  return (socket) => {
    const address = clientKey(socket.remoteAddress);
    const openedAt = performance.now();
    const connection: Connection = { socket, address, openedAt, busy: 0, isSpare: false };
    if (hasRoom(address)) {
      ordinary.set(address, (ordinary.get(address) ?? new Set()).add(connection));
      count += 1;
    } else if (spare.size < spareMax || closeOldestWaiting(spare, 0)) {
      connection.isSpare = true;
      spare.add(connection);
    } else {
      onRefused();
      return null;
    }
    socket.once('close', () => forget(connection));
    return connection;
  };
}
