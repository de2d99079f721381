import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';

const connectionsOf = (url: string, count: number): Socket[] =>
  Array.from({ length: count }, () => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    return socket;
  });

export type HalfOpen = {
  /** Seconds for which the server kept each connection that it has ended. */
  endedAfter: number[];
  stillOpen(): number;
  leave(): void;
};

/** Connections that send half a request, or nothing at all, and then stay silent. */
export function openHalf(url: string, count: number): HalfOpen {
  const endedAfter: number[] = [];
  const sockets = connectionsOf(url, count);
  for (const [index, socket] of sockets.entries()) {
    const startedAt = performance.now();
    if (index % 2 === 0) socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: ');
    socket.resume();
    socket.once('close', () => endedAfter.push((performance.now() - startedAt) / 1_000));
  }
  return {
    endedAfter,
    stillOpen: () => count - endedAfter.length,
    leave: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

export type SlowReaders = {
  /** Connections that the server has not cut. */
  stillOpen(): number;
  leave(): void;
};

/** Clients that read a byte per second: half of them request a few pages, half more than the network buffers hold. */
export function readSlowly(url: string, count: number): SlowReaders {
  const request = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const sockets = connectionsOf(url, count);
  for (const [index, socket] of sockets.entries()) {
    socket.pause();
    socket.write(request.repeat(index % 2 === 0 ? 3 : 300));
  }
  const timer = setInterval(() => {
    for (const socket of sockets) socket.read(1);
  }, 1_000);
  return {
    stillOpen: () => sockets.filter((socket) => !socket.destroyed && socket.writable).length,
    leave: () => {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}

export type Listeners = {
  /** Number of event stream clients by the status of their answer: accepted, or refused because there are too many. */
  statuses: Record<number, number>;
  bytes: () => number;
  leave(): void;
};

/** Clients of the event stream that read all events; resolves once all have an answer. */
export async function listenToEvents(url: string, count: number): Promise<Listeners> {
  const statuses: Record<number, number> = {};
  const requests: ClientRequest[] = [];
  let bytes = 0;
  await Promise.all(
    Array.from({ length: count }, async () => {
      const response = await new Promise<IncomingMessage>((found, fail) => {
        const request = get(`${url}/events`, { agent: false }, found).on('error', fail);
        requests.push(request);
      });
      response.on('error', () => undefined);
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      const status = response.statusCode ?? 0;
      statuses[status] = (statuses[status] ?? 0) + 1;
    }),
  );
  return {
    statuses,
    bytes: () => bytes,
    leave: () => {
      for (const request of requests) request.on('error', () => undefined).destroy();
    },
  };
}
