import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { listen } from '../support/listen.ts';

export type TcpFaultProxy = {
  port: number;
  /** Cuts every connection with RST; for so long, each new one too. */
  reset(forMs: number): Promise<void>;
  /** Nothing passes in either direction, and nobody is told: new connections are taken and left alone. */
  goSilent(forMs: number): Promise<void>;
  /** Every chunk arrives later. */
  slowDown(byMs: number, forMs: number): Promise<void>;
  /** The server seems to end each connection, yet goes on listening to it; then they are cut. */
  halfClose(forMs: number): Promise<void>;
  connections(): number;
  /** From now on another port stands behind it; what was connected is cut. */
  turnTo(port: number): void;
  close(): Promise<void>;
};

type Pair = { near: Socket; far: Socket };

type State = { isRefusing: boolean; isSilent: boolean; delayMs: number; targetPort: number };

/** Stands before a server on a port of 127.0.0.1. */
export async function startTcpFaultProxy(targetPort: number): Promise<TcpFaultProxy> {
  const pairs = new Set<Pair>();
  const state: State = { isRefusing: false, isSilent: false, delayMs: 0, targetPort };
  const server = createServer({ allowHalfOpen: true }, (near) => {
    near.on('error', () => undefined);
    if (state.isRefusing) {
      near.resetAndDestroy();
      return;
    }
    const far = connect({ port: state.targetPort, host: '127.0.0.1', allowHalfOpen: true });
    const pair = { near, far };
    pairs.add(pair);
    forward(near, far);
    forward(far, near);
    near.on('close', () => pairs.delete(pair));
    if (state.isSilent) for (const socket of [near, far]) socket.pause();
  });
  const ownPort = await listen(server);

  function forward(from: Socket, to: Socket): void {
    const later = inOrder(() => state.delayMs);
    from.on('error', () => to.resetAndDestroy());
    from.on('data', (chunk) => later(() => to.writable && to.write(chunk)));
    from.on('end', () => later(() => to.end()));
    from.on('close', () => later(() => to.destroy()));
  }
  function cut(): void {
    for (const { near, far } of pairs) {
      near.resetAndDestroy();
      far.destroy();
    }
  }
  return {
    port: ownPort,
    async reset(forMs) {
      state.isRefusing = true;
      cut();
      await delay(forMs);
      state.isRefusing = false;
    },
    async goSilent(forMs) {
      state.isSilent = true;
      for (const { near, far } of pairs) for (const socket of [near, far]) socket.pause();
      await delay(forMs);
      state.isSilent = false;
      for (const { near, far } of pairs) for (const socket of [near, far]) socket.resume();
    },
    async slowDown(byMs, forMs) {
      state.delayMs = byMs;
      await delay(forMs);
      state.delayMs = 0;
    },
    async halfClose(forMs) {
      const ended = [...pairs];
      for (const { near } of ended) near.end();
      await delay(forMs);
      for (const { near, far } of ended) {
        near.resetAndDestroy();
        far.destroy();
      }
    },
    connections: () => pairs.size,
    turnTo(port) {
      state.targetPort = port;
      cut();
    },
    async close() {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}

/** Acts as late as asked for at the moment, never before what was handed in earlier. */
function inOrder(delayMs: () => number): (act: () => void) => void {
  const waiting: (() => void)[] = [];
  return (act) => {
    if (delayMs() === 0 && waiting.length === 0) return act();
    waiting.push(act);
    setTimeout(() => waiting.shift()?.(), delayMs());
  };
}
