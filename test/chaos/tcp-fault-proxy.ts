import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { listen } from '../support/listen.ts';

export type TcpFaultProxy = {
  port: number;
  /** Resets every connection; during this time each new one too. */
  reset(forMs: number): Promise<void>;
  /** No data pass in either direction: new connections are accepted and get no data. */
  goSilent(forMs: number): Promise<void>;
  /** Every chunk arrives later. */
  slowDown(byMs: number, forMs: number): Promise<void>;
  /** The server seems to end each connection, but continues to read from it; then they are cut. */
  halfClose(forMs: number): Promise<void>;
  connections(): number;
  /** From now on the proxy connects to another port; existing connections are cut. */
  turnTo(port: number): void;
  close(): Promise<void>;
};

type Pair = { near: Socket; far: Socket };

type State = { isRefusing: boolean; isSilent: boolean; delayMs: number; targetPort: number };

/** A proxy before a server on a port of 127.0.0.1. */
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

/** Acts after the current delay, and never before earlier data. */
function inOrder(delayMs: () => number): (act: () => void) => void {
  const waiting: (() => void)[] = [];
  return (act) => {
    if (delayMs() === 0 && waiting.length === 0) return act();
    waiting.push(act);
    setTimeout(() => waiting.shift()?.(), delayMs());
  };
}
