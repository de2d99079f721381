import type { ServerResponse } from 'node:http';
import { abortableSleep } from '../kernel/abortable-sleep.ts';
import { type Answer, refuse } from './sandbox-answer.ts';
import type { FaultKind } from './sandbox-faults.ts';

const htmlPage = '<!DOCTYPE html><html><body><h1>Please sign in</h1></body></html>';

/** Sends the answer as JSON, or with the content type of its headers. */
export function sendAnswer(response: ServerResponse, { status, text, headers }: Answer): void {
  response.writeHead(status, {
    'content-type': 'application/json;charset=UTF-8',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/** `work` executes the request; `closing` ends a hang when the sandbox closes. */
export type FaultContext = { work(): Answer; hangMs: number; closing: AbortSignal };

type FaultAct = (response: ServerResponse, context: FaultContext) => void | Promise<void>;

const acts: Record<FaultKind, FaultAct> = {
  'rate-limit': (response) => sendAnswer(response, refuse('too-many-requests')),
  'server-error': (response) => sendAnswer(response, refuse('internal')),
  html: (response) =>
    sendAnswer(response, { status: 200, text: htmlPage, headers: { 'content-type': 'text/html' } }),
  'error-code': (response) => sendAnswer(response, refuse('busy')),
  'cut-body': (response, { work }) => sendHalf(response, work()),
  reset: (response) => resetConnection(response),
  'lost-answer': (response, { work }) => {
    work();
    resetConnection(response);
  },
  unauthorized: (response) => sendAnswer(response, refuse('unknown-key')),
  async hang(response, { hangMs, closing }) {
    await abortableSleep(hangMs, closing);
    resetConnection(response);
  },
};

/** Answers with the fault; `faultKinds` says which faults do the work. */
export async function sendFault(
  response: ServerResponse,
  fault: FaultKind,
  context: FaultContext,
): Promise<void> {
  await acts[fault](response, context);
}

function sendHalf(response: ServerResponse, { status, text }: Answer): void {
  const bytes = Buffer.from(text);
  response.writeHead(status, {
    'content-type': 'application/json;charset=UTF-8',
    'content-length': bytes.length,
  });
  response.write(bytes.subarray(0, Math.ceil(bytes.length / 2)), () => response.destroy());
}

function resetConnection(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}
