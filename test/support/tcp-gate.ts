import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { listen } from './listen.ts';

export type TcpGate = {
  /** The address given, through the gate. */
  url: string;
  /** Cuts all connections, and from now on each new one at once, like a restarting server. */
  shut(): void;
  open(): void;
  /** From now on no data pass through the existing connections. */
  fallSilent(): void;
  /**
   * From now on imitates a PostgreSQL server that ends each connection with its own message at the moment it is ready.
   */
  endWhenReady(): void;
  /** Imitates a PostgreSQL server that ends all existing connections with its own message. */
  end(): void;
  /** Number of connections refused, or ended when ready, since the gate was set to do so. */
  refusals(): number;
  close(): Promise<void>;
};

/** ReadyForQuery, and the error with which PostgreSQL ends a connection (protocol 3.0, message formats). */
const ready = Buffer.from('5a0000000549', 'hex');
const ended = errorResponse({
  S: 'FATAL',
  V: 'FATAL',
  C: '57P01',
  M: 'terminating connection due to administrator command',
});

/** A proxy between a client and a server, so that a test can disconnect the server and reconnect it. */
export async function openTcpGate(target: string): Promise<TcpGate> {
  const { hostname, port: targetPort } = new URL(target);
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  let isShut = false;
  let isDeadly = false;
  let refusals = 0;
  const server = createServer((near) => {
    near.on('error', () => undefined);
    if (isShut) {
      refusals += 1;
      near.resetAndDestroy();
      return;
    }
    clients.add(near);
    near.on('close', () => clients.delete(near));
    const far = connect(Number(targetPort), hostname);
    far.on('error', () => undefined);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    near.pipe(far);
    far.on('data', (chunk) => {
      if (!isDeadly || !chunk.subarray(-ready.length).equals(ready)) {
        near.write(chunk);
        return;
      }
      refusals += 1;
      near.end(Buffer.concat([chunk, ended]));
    });
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const url = new URL(target);
  url.host = `127.0.0.1:${await listen(server)}`;
  return {
    url: url.toString(),
    shut() {
      isShut = true;
      refusals = 0;
      cut();
    },
    open() {
      isShut = false;
      isDeadly = false;
    },
    fallSilent() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    endWhenReady() {
      isDeadly = true;
      refusals = 0;
      cut();
    },
    end() {
      for (const client of clients) client.end(ended);
    },
    refusals: () => refusals,
    async close() {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}

export function errorResponse(fields: Record<string, string>): Buffer {
  const told = Object.entries(fields).map(([type, value]) => `${type}${value}\0`);
  const body = Buffer.from(`${told.join('')}\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
