import { Agent, get } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

export type RequestFigures = {
  sent: number;
  /** Answers by `path status`, and failures by `path code`. */
  outcomes: Record<string, number>;
  /** Requests that were skipped because too many were already in flight. */
  leftOut: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
};

const stepMs = 20;
const inFlightMax = 500;
const socketsMax = 64;
const answerMs = 30_000;

/**
 * Sends GETs at a steady rate, like browsers: a request on a kept connection that the server closes at that moment is
 * sent again on another one. The rate does not depend on the answers: a slow server does not lower the load. The paths
 * come in turn. Resolves when the last answer has arrived.
 */
export async function sendSteadily(options: {
  url: string;
  paths: string[];
  rps: number;
  seconds: number;
}): Promise<RequestFigures> {
  const { url, paths, rps, seconds } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: socketsMax });
  const took: number[] = [];
  const outcomes: Record<string, number> = {};
  let sent = 0;
  let leftOut = 0;
  let inFlight = 0;

  const send = (path: string) =>
    new Promise<void>((done) => {
      const startedAt = performance.now();
      inFlight += 1;
      const end = (outcome: string) => {
        inFlight -= 1;
        took.push(performance.now() - startedAt);
        outcomes[`${path} ${outcome}`] = (outcomes[`${path} ${outcome}`] ?? 0) + 1;
        done();
      };
      const ask = (isAgain: boolean) => {
        const request = get(`${url}${path}`, { agent, timeout: answerMs }, (response) => {
          response.resume();
          response.once('close', () => end(response.complete ? `${response.statusCode}` : 'cut'));
        });
        request.once('timeout', () => request.destroy(new Error('timeout')));
        request.once('error', (error: NodeJS.ErrnoException) => {
          const isLetGo = request.reusedSocket && error.code === 'ECONNRESET';
          if (isLetGo && !isAgain) ask(true);
          else end(error.code ?? error.message);
        });
      };
      ask(false);
    });

  const startedAt = performance.now();
  const answers: Promise<void>[] = [];
  const due = () => Math.min(performance.now() - startedAt, seconds * 1_000) * (rps / 1_000);
  while (performance.now() - startedAt < seconds * 1_000) {
    for (const total = Math.floor(due()); sent + leftOut < total; ) {
      if (inFlight >= inFlightMax) leftOut += 1;
      else answers.push(send(paths[sent++ % paths.length] ?? '/'));
    }
    await delay(stepMs);
  }
  await Promise.all(answers);
  agent.destroy();
  took.sort((a, b) => a - b);
  const at = (share: number) =>
    took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0;
  return { sent, outcomes, leftOut, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}
