import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type TcpGate = {
  /** The address given, through the gate. */
  url: string;
  /** Cuts all connections, and from now on each new one as soon as it is there, as a restarting server does. */
  shut(): void;
  open(): void;
  /** Connections refused since the gate was shut. */
  refusals(): number;
  close(): Promise<void>;
};

/** Stands between a client and a server, so that a test can take the server away and bring it back. */
export async function openTcpGate(target: string): Promise<TcpGate> {
  const { hostname, port: targetPort } = new URL(target);
  const sockets = new Set<Socket>();
  let isShut = false;
  let refusals = 0;
  const server = createServer((near) => {
    near.on('error', () => undefined);
    if (isShut) {
      refusals += 1;
      near.resetAndDestroy();
      return;
    }
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
      socket.pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.toString(),
    shut() {
      isShut = true;
      refusals = 0;
      cut();
    },
    open() {
      isShut = false;
    },
    refusals: () => refusals,
    async close() {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}
