/** A process that sends POSTs at a steady rate on persistent connections, and reports the answers. */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Requests to send: target, rate and duration. `orderNo` of the body differs with each request. */
export type Flood = { url: string; rps: number; seconds: number };
/** Requests answered with 202, with anything else, and the largest delay of an answer in ms. */
export type FloodAnswer = { accepted: number; others: number; maxMs: number };

const connections = 128;
const stepMs = 5;

const flood = JSON.parse(process.argv[2] ?? '{}') as Flood;
const { hostname, port, pathname } = new URL(flood.url);
const answer: FloodAnswer = { accepted: 0, others: 0, maxMs: 0 };
const idle: (() => void)[] = [];
let sent = 0;

for (let index = 0; index < connections; index += 1) {
  const socket = connect(Number(port), hostname);
  let sentAt = 0;
  const send = () => {
    sent += 1;
    sentAt = performance.now();
    const body = `{"event":"transaction","data":{"orderNo":"forged-${process.pid}-${sent}"}}`;
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  };
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
    const head = text.indexOf('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
    if (head < 0 || text.length < head + 4 + length) return;
    answer[text.startsWith('HTTP/1.1 202') ? 'accepted' : 'others'] += 1;
    answer.maxMs = Math.max(answer.maxMs, performance.now() - sentAt);
    text = '';
    idle.push(send);
  });
  socket.on('connect', () => idle.push(send)).on('error', () => undefined);
}

const startedAt = performance.now();
const elapsed = () => performance.now() - startedAt;
while (elapsed() < flood.seconds * 1_000) {
  const due = (elapsed() / 1_000) * flood.rps;
  while (sent < due) {
    const send = idle.shift();
    if (!send) break;
    send();
  }
  await delay(stepMs);
}
process.send?.(answer);
process.disconnect();
process.exit();
