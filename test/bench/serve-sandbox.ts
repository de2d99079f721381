/** The sandbox as a separate process, so that its work and the bench's do not wait for one another. */
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import type { SandboxOptions } from '../../src/sandbox/sandbox-options.ts';
import { sandboxSettings } from '../../src/sandbox/sandbox-settings.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import type { Arrival, SandboxAnswer } from './sandbox-process.ts';

const arrivals: Arrival[] = [];

// Node emits a request when its head has been read: before the sandbox's latency, and independent of its answer.
subscribe('http.server.request.start', (message) => {
  const { url = '', headers } = (message as { request: IncomingMessage }).request;
  const path = url.split('?')[0] ?? '';
  if (path.startsWith('/control/')) return;
  const key = String(headers['biz-api-key'] ?? '');
  arrivals.push({ atMs: performance.timeOrigin + performance.now(), path, key });
});

const options = JSON.parse(process.argv[2] ?? '{}') as Partial<SandboxOptions>;
const sandbox = await startSandbox(options);
const say = (answer: SandboxAnswer) => process.send?.(answer);

process.on('message', () => say({ arrivals: arrivals.splice(0) }));
process.on('disconnect', () => process.exit());
say({ rootUrl: `http://127.0.0.1:${sandbox.port}`, env: sandboxSettings(sandbox) });
