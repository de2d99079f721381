import { expect, test } from 'vitest';
import { parseSettings } from '../../src/config/parse-settings.ts';
import { readTracing } from '../../src/config/read-tracing.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

test('traces are asked for by an endpoint, and by nothing else', () => {
  expect(readTracing({}, {})).toBeNull();
  expect(readTracing({ OTEL_SERVICE_NAME: 'ledger' }, {})).toBeNull();
  expect(readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, {})).toBeNull();
  expect(readTracing(endpoint, {})).not.toBeNull();
  const ofTraces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/v1/traces' };
  expect(readTracing(ofTraces, {})).not.toBeNull();
});

test('the variables that switch OpenTelemetry off switch it off', () => {
  expect(readTracing({ ...endpoint, OTEL_SDK_DISABLED: 'True' }, {})).toBeNull();
  expect(readTracing({ ...endpoint, OTEL_SDK_DISABLED: 'false' }, {})).not.toBeNull();
  expect(readTracing({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }, {})).toBeNull();
});

test('the service is called wallet-ledger, unless a variable says otherwise', () => {
  const nameBy = (env: Record<string, string>) =>
    readTracing({ ...endpoint, ...env }, {})?.resource['service.name'];
  expect(nameBy({})).toBe('wallet-ledger');
  expect(nameBy({ OTEL_RESOURCE_ATTRIBUTES: 'service.name=books' })).toBe('books');
  expect(
    nameBy({ OTEL_SERVICE_NAME: 'ledger', OTEL_RESOURCE_ATTRIBUTES: 'service.name=books' }),
  ).toBe('ledger');
});

test('resource attributes are decoded, and broken ones left out', () => {
  const text = 'deployment.environment.name=live%2C eu, host.name = a ,=x,broken,two=1=2,odd=%';
  expect(readTracing({ ...endpoint, OTEL_RESOURCE_ATTRIBUTES: text }, {})?.resource).toEqual({
    'service.name': 'wallet-ledger',
    'deployment.environment.name': 'live, eu',
    'host.name': 'a',
    odd: '%',
  });
});

test("OpenTelemetry's variables of a .env file reach the process, from which its SDK reads them", () => {
  const target: Record<string, string> = {};
  readTracing({ ...endpoint, OTEL_BSP_SCHEDULE_DELAY: '100', LOG_LEVEL: 'info' }, target);
  expect(target).toEqual({ ...endpoint, OTEL_BSP_SCHEDULE_DELAY: '100' });
});

test("OpenTelemetry's variables are no mistake among the settings", () => {
  const { warnings } = parseSettings({ ...endpoint, OTEL_SERVICE_NAME: 'ledger' }, () => '');
  expect(warnings).toEqual([]);
});
