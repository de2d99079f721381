// A receiver of webhooks: verifies each event, and processes it once. docs/change-feed.md explains it.
//
//   WEBHOOK_SECRET=whsec_… PORT=9000 node examples/receive-webhooks.mjs
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const { WEBHOOK_SECRET = '', PORT = '9000' } = process.env;
const webhook = new Webhook(WEBHOOK_SECRET);
const bodyMax = 1_000_000;
/** Ids of what was processed. A real receiver keeps them in its database, in the transaction that processes the event. */
const processed = new Set();

const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request.setEncoding('utf8')) {
    body += part;
    if (body.length > bodyMax) return request.destroy();
  }
  let event;
  try {
    // Throws if the signature is wrong, or older than five minutes.
    event = webhook.verify(body, request.headers);
  } catch {
    return response.writeHead(401).end();
  }
  if (!processed.has(request.headers['webhook-id'])) {
    process.stdout.write(`${event.seq} ${event.kind} ${event.key}\n`);
    processed.add(request.headers['webhook-id']);
  }
  response.writeHead(204).end();
});
server.listen(Number(PORT), '127.0.0.1', () => {
  process.stdout.write(`listening on port ${server.address().port}\n`);
});
