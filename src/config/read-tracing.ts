import type { Environment } from './read-setting-texts.ts';

/** Of whom traces speak: the attributes of OpenTelemetry's resource. */
export type Tracing = { resource: Record<string, string> };

/**
 * Whether OpenTelemetry's standard variables ask for traces; null: they do not. Its SDK reads its variables from the
 * process by itself, so those of a `.env` file are put there.
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

/** `name=value` with commas between, percent-encoded; what does not fit is left out. */
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
