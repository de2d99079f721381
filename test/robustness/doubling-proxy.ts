import { createServer, request as send } from 'node:http';
import { closeServer, listen } from '../support/listen.ts';

export type DoublingProxy = { baseUrl: string; close(): Promise<void> };

/** A proxy that delivers each request twice, and returns the second answer. */
export async function startDoublingProxy(target: string): Promise<DoublingProxy> {
  const { hostname, port } = new URL(target);
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const deliver = () =>
      new Promise<{ status: number; body: Buffer }>((resolve, reject) => {
        const { method, url: path, headers } = incoming;
        const outgoing = send({ hostname, port, method, path, headers }, (answer) => {
          const parts: Buffer[] = [];
          answer.on('data', (part: Buffer) => parts.push(part));
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(parts) }),
          );
        });
        outgoing.on('error', reject).end(Buffer.concat(chunks));
      });
    try {
      await deliver();
      const { status, body } = await deliver();
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    } catch {
      response.destroy();
    }
  });
  const listening = await listen(server);
  return { baseUrl: `http://127.0.0.1:${listening}/api`, close: () => closeServer(server) };
}
