import type { NodeTracerConfig } from '@opentelemetry/sdk-trace-node';
import { readTracing, type Tracing } from '../../config/read-tracing.ts';
import type { Log } from '../../kernel/log.ts';
import type { Environment } from '../../kernel/vocabulary.ts';
import type { Shutdown } from '../shutdown.ts';

/** Upper bound for sending the last spans, within the time that a shutdown may take. */
const flushMs = 3_000;

/** Sends traces until the shutdown if the variables of OpenTelemetry enable them; otherwise loads no code for it. */
export async function startTracing(
  env: Environment,
  { log, shutdown }: { log: Log; shutdown: Shutdown },
): Promise<{ isTraced: boolean }> {
  const tracing = readTracing(env);
  if (!tracing) return { isTraced: false };
  const [{ diag, DiagLogLevel }, { OTLPTraceExporter }, sdk] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/sdk-trace-node'),
  ]);
  diag.setLogger(complaints(log), DiagLogLevel.WARN);
  const provider = new sdk.NodeTracerProvider({
    resource: resourceOf(tracing),
    spanProcessors: [new sdk.BatchSpanProcessor(new OTLPTraceExporter())],
    // Events of the queue's spans quote error messages, which may quote the service.
    spanLimits: { eventCountLimit: 0 },
  });
  provider.register();
  shutdown.add('traces', async () => {
    const waiting = AbortSignal.timeout(flushMs);
    const overdue = new Promise<void>((resolve) => {
      waiting.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([provider.shutdown(), overdue]);
  });
  return { isTraced: true };
}

/**
 * Logs the first failure as a warning and later ones at level debug, because an unreachable collector fails every
 * batch.
 */
function complaints(log: Log) {
  let isLogged = false;
  const report = (message: string) => {
    log[isLogged ? 'debug' : 'warn']({ reason: message.slice(0, 200) }, 'traces cannot be sent');
    isLogged = true;
  };
  const silent = () => undefined;
  return { error: report, warn: report, info: silent, debug: silent, verbose: silent };
}

type Resource = NonNullable<NodeTracerConfig['resource']>;

/** Creates a resource without the SDK's detectors, so that no facts about the host are sent. */
function resourceOf({ resource: attributes }: Tracing): Resource {
  const resource: Resource = {
    attributes,
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource;
}
