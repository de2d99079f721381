import { createMetrics } from '../src/http/metrics/create-metrics.ts';

const head = `# Metrics

\`/metrics\` of each daemon, in the text format of Prometheus. \`npm run docs\` writes this page from the program.
Alerts are in \`ops/alerts.yml\`, the dashboard in \`ops/grafana-dashboard.json\`: see [operations.md](operations.md).

Gauges marked "database" are the same in every daemon: use \`max by\` or \`min by\`. The others count what this process did.

`;

const foot = `Beside these there are the usual ones of a Node process, such as \`process_start_time_seconds\` (since when it runs),
\`process_resident_memory_bytes\`, \`process_cpu_seconds_total\` and \`nodejs_eventloop_lag_seconds\`.
`;

/** The text of `docs/metrics.md`. */
export async function renderMetricsDoc(): Promise<string> {
  const never = () => Promise.reject(new Error('no status'));
  const { registry } = createMetrics(never, { version: '' });
  const labels = new Map(
    registry
      .getMetricsAsArray()
      .map((metric) => [
        metric.name,
        (metric as unknown as { labelNames: readonly string[] }).labelNames,
      ]),
  );
  const all = await registry.getMetricsAsJSON();
  const rows = all
    .filter(({ name }) => name.startsWith('wallet_ledger_'))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, type, help }) => {
      const names = (labels.get(name) ?? []).map((label) => `\`${label}\``).join(', ');
      const of = isOfProcess(name, String(type)) ? 'process' : 'database';
      return `| \`${name}\` | ${type} | ${of} | ${names} | ${help} |`;
    });
  return [
    `${head}| name | type | of the | labels | meaning |`,
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    foot,
  ].join('\n');
}

function isOfProcess(name: string, type: string): boolean {
  return type !== 'gauge' || /_(up|build_info)$/.test(name);
}
