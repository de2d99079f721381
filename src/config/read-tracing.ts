import type { Environment } from '../kernel/vocabulary.ts';

/** Attributes of OpenTelemetry's resource, which identify this process in traces. */
export type Tracing = { resource: Record<string, string> };

/**
 * Returns the tracing options if OpenTelemetry's standard variables request traces, else null. Copies `OTEL_*`
 * variables into `target`, because the SDK reads them from the process's environment.
 */
export function readTracing(env: Environment, target: Environment = process.env): Tracing | null {
  const endpoint = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const isDisabled = env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true';
  if (!endpoint || isDisabled || env['OTEL_TRACES_EXPORTER'] === 'none') return null;
  const ofOpenTelemetry = Object.entries(env).filter(([name]) => name.startsWith('OTEL_'));
  Object.assign(target, Object.fromEntries(ofOpenTelemetry));
  const given = resourceAttributes(env['OTEL_RESOURCE_ATTRIBUTES'] ?? '');
  const name = env['OTEL_SERVICE_NAME'] || given['service.name'] || 'wallet-ledger';
  return { resource: { ...given, 'service.name': name } };
}

/** Parses percent-encoded `name=value` pairs separated by commas; malformed pairs are ignored. */
function resourceAttributes(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap((pair) => {
    const [name = '', value, ...more] = pair.split('=');
    if (name.trim() === '' || value === undefined || more.length > 0) return [];
    return [[decoded(name.trim()), decoded(value.trim())] as const];
  });
  return Object.fromEntries(pairs);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
