import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { onTestFinished } from 'vitest';
import type { Certificate } from './certificates.ts';
import { closeServer, listen } from './listen.ts';

/** An event as a receiver gets it. */
type Delivery = {
  seq: number;
  kind: string;
  key: string;
  data: Record<string, unknown>;
  body: string;
  headers: Record<string, string>;
};

/** Reaction of a receiver to an event: returns the status to answer, or null if it writes the answer itself. */
type Behaviour = (delivery: Delivery, response: ServerResponse) => number | Promise<number> | null;

export type WebhookReceiver = {
  url: string;
  secret: string;
  /** Every attempt, in the order of their arrival. */
  attempts: Delivery[];
  /** Events that were answered with a status of 2xx, in the order of the answers. */
  accepted: Delivery[];
  /** Maximum number of events of one key that were being sent at the same time. */
  mostAtOnce(): number;
  behaviour: Behaviour;
  stop(): Promise<void>;
  restart(): Promise<void>;
};

export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/**
 * A webhook receiver that refuses requests not signed with its secret; closed with the test. With a certificate it
 * uses TLS.
 */
export async function startReceiver(
  secret = newSecret(),
  certificate?: Certificate,
): Promise<WebhookReceiver> {
  const webhook = new Webhook(secret);
  const running = new Map<string, number>();
  let most = 0;
  const listener: RequestListener = async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts).toString();
    const headers = request.headers as Record<string, string>;
    try {
      webhook.verify(body, headers);
    } catch {
      response.writeHead(401).end();
      return;
    }
    await receive({ ...JSON.parse(body), body, headers }, response);
  };
  const server = certificate ? createSecureServer(certificate, listener) : createServer(listener);

  async function receive(delivery: Delivery, response: ServerResponse): Promise<void> {
    receiver.attempts.push(delivery);
    const atOnce = (running.get(delivery.key) ?? 0) + 1;
    running.set(delivery.key, atOnce);
    most = Math.max(most, atOnce);
    const status = await receiver.behaviour(delivery, response);
    running.set(delivery.key, (running.get(delivery.key) ?? 1) - 1);
    if (status === null) return;
    if (status >= 200 && status < 300) receiver.accepted.push(delivery);
    response.writeHead(status).end();
  }

  const port = await listen(server);
  const receiver: WebhookReceiver = {
    url: `${certificate ? 'https' : 'http'}://127.0.0.1:${port}/hooks`,
    secret,
    attempts: [],
    accepted: [],
    mostAtOnce: () => most,
    behaviour: () => 204,
    stop: () => closeServer(server),
    async restart() {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
  };
  onTestFinished(async () => {
    if ((server.address() as AddressInfo | null) !== null) await closeServer(server);
  });
  return receiver;
}
