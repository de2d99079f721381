import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { listProblems } from '../../src/status/list-problems.ts';
import {
  samplePool,
  sampleProblem,
  sampleReport,
  sampleWebhook,
} from '../support/sample-report.ts';
import { type HttpHarness, openHttp } from '../support/with-http.ts';
import { withLedger } from '../support/with-ledger.ts';

type Rule = {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
};

const { groups } = parse(readFileSync('ops/alerts.yml', 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

type Panel = { title: string; targets?: { expr: string; legendFormat?: string }[] };
const dashboard = JSON.parse(readFileSync('ops/grafana-dashboard.json', 'utf8')) as {
  panels: Panel[];
  templating: { list: { name: string }[] };
};
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr })),
);

const words = new Set(['by', 'or', 'and', 'unless', 'on', 'ignoring', 'without']);

/** The metrics that an expression of Prometheus's language asks for. */
function metricsOf(expr: string): string[] {
  const bare = expr
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}/g, '')
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\$\w+/g, '')
    .replace(/\b(by|without|on|ignoring)\s*\([^)]*\)/g, ' ');
  return [...bare.matchAll(/(?<![\w.])[a-z_]\w*(?!\w|\s*\()/g)]
    .map(([name]) => name)
    .filter((name) => !words.has(name));
}

/** The labels that an expression chooses by or groups by. */
function labelsOf(expr: string): string[] {
  const chosen = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, inside = '']) =>
    [...inside.matchAll(/(\w+)\s*[=!]/g)].map(([, name = '']) => name),
  );
  const grouped = [...expr.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, inside = '']) =>
    inside.split(/[\s,]+/),
  );
  return [...chosen, ...grouped].filter(Boolean);
}

/** As GitHub names the place of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replace(/\s/g, '-');
}

/** pool_empty → WalletLedgerPoolEmpty. */
function alertOf(problem: string): string {
  const words = problem.split('_').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `WalletLedger${words.join('')}`;
}

const { query } = await withLedger();
let http: HttpHarness;
const names = new Set(['up']);
const labels = new Set(['job', 'instance']);

beforeAll(async () => {
  http = await openHttp({
    readStatus: async () =>
      sampleReport({
        problems: [sampleProblem()],
        feed: [sampleWebhook()],
        pools: [samplePool({ daysLeft: 3 })],
        unexplainedDifferences: [
          { wallet: 'main', symbol: 'BTC', amount: '1', since: '2026-03-01T11:00:00Z' },
        ],
      }),
  });
  http.metrics.onAttempt({
    wallet: 'main',
    endpoint: '/v1/wallet/coin',
    outcome: 'success',
    seconds: 0.1,
  });
  http.metrics.onWebhook('shop', 'accepted');
  http.metrics.onRun({ wallet: 'main', job: 'coins' }, { rowsInserted: 1, rowsUpdated: 0 });
  const text = await (await fetch(`${http.url}/metrics`)).text();
  for (const [, name = '', inside = ''] of text.matchAll(/^([a-zA-Z_]\w*)(?:\{(.*)\})? \S+$/gm)) {
    names.add(name);
    for (const [, label = ''] of inside.matchAll(/(\w+)="/g)) labels.add(label);
  }
});
afterAll(() => http.close());

describe('the reader of expressions', () => {
  it('finds metrics and labels', () => {
    const expr = 'sum by (le) (rate(a_b{c!~"d|e", f="g"}[5m])) / on (h) i > 0 or vector(0)';
    expect(metricsOf(expr)).toEqual(['a_b', 'i']);
    expect(labelsOf(expr)).toEqual(['c', 'f', 'le']);
  });
});

describe('ops/alerts.yml', () => {
  it('asks only for what /metrics has', () => {
    expect(rules.length).toBeGreaterThan(10);
    for (const { alert, expr } of rules) {
      const asked = metricsOf(expr);
      expect(asked, alert).not.toEqual([]);
      expect([alert, asked.filter((name) => !names.has(name))]).toEqual([alert, []]);
      expect([alert, labelsOf(expr).filter((name) => !labels.has(name))]).toEqual([alert, []]);
    }
  });

  it('asks for outcomes, states and kinds that exist', () => {
    const values = rules.flatMap(({ expr }) => [...expr.matchAll(/(\w+)(=~|!~|=|!=)"([^"]*)"/g)]);
    const known: Record<string, RegExp> = {
      job: /^wallet-ledger$/,
      name: /^[a-z_]+$/,
      severity: /^(critical|warning)$/,
      outcome: /^(success|interrupted|authentication|rate-limited)$/,
      state: /^(waiting|active|failed)$/,
      kind: /^(foreign|unknown)$/,
    };
    for (const [, label = '', , value = ''] of values)
      for (const one of value.split('|')) expect(one).toMatch(known[label] ?? /^$/);
  });

  it('has a runbook for every alert, which says what it means, what to check and what to do', () => {
    const page = readFileSync('docs/operations.md', 'utf8');
    const sections = page.split(/^#{1,6} /m).map((section) => section.split('\n'));
    const anchors = new Map(sections.map(([heading = '', ...lines]) => [anchorOf(heading), lines]));
    for (const { alert, annotations } of rules) {
      const [file, anchor = ''] = annotations.runbook_url.split('#');
      const page = '{{ $externalLabels.runbooks }}docs/operations.md';
      expect([alert, file, anchor]).toEqual([alert, page, alert.toLowerCase()]);
      const lines = anchors.get(anchor)?.join('\n') ?? '';
      for (const part of ['**Means:**', '**Check:**', '**Do:**'])
        expect(lines, alert).toContain(part);
    }
    const told = new Set(rules.map(({ alert }) => alert));
    const headings = sections.map(([heading = '']) => heading);
    const orphans = headings.filter((one) => /^WalletLedger/.test(one) && !told.has(one));
    expect(orphans).toEqual([]);
  });

  it('has one alert for every kind of problem, of its severity, and none for another', async () => {
    const [view] = await query<{ text: string }>(
      `select pg_get_functiondef('engine.problems_of(text)'::regprocedure) || pg_get_viewdef('engine.database_problems')
              || pg_get_viewdef('ledger.feed_problems') as text`,
    );
    const kinds = [
      ...(view?.text ?? '').matchAll(/'(\w+)'(?:::text)?(?: AS \S+)?,\s*'(critical|warning)'/g),
    ].map(([, name = '', severity]) => ({ name, severity }));
    const ofHome = await query<{ text: string }>(
      `select pg_get_viewdef('engine.home_problem') as text`,
    );
    for (const severity of ['critical', 'warning'])
      if (ofHome[0]?.text.includes(`'${severity}'`))
        kinds.push({ name: 'database_moved', severity });
    const failing = {
      backend: 'redis' as const,
      waiting: 21,
      active: 0,
      failed: 6,
      heldBy: 'process 12',
      isPaused: false,
      refusal: null,
    };
    const ofQueue = [null, failing].flatMap((queue) => listProblems(sampleReport({ queue })));
    const all = [...kinds, ...ofQueue.map(({ name, severity }) => ({ name, severity }))];
    expect(kinds.length).toBeGreaterThan(15);
    const asked = rules.flatMap(({ alert, expr, labels: own }) =>
      [
        ...expr.matchAll(
          /^max by \(wallet\) \(max_over_time\(wallet_ledger_problem\{name="(\w+)"(?:, severity="(\w+)")?\}\[1m\]\)\) > 0$/g,
        ),
      ].map(([, name = '', severity = own.severity]) => ({ alert, name, severity })),
    );
    type Asked = { name: string; severity: string | undefined };
    const byName = (one: Asked, other: Asked) =>
      `${one.name} ${one.severity}` < `${other.name} ${other.severity}` ? -1 : 1;
    // A kind of two severities has an alert for each.
    const hasWarning = (problem: string) =>
      all.some(({ name, severity }) => name === problem && severity === 'warning');
    const nameOf = ({ name, severity }: Asked) =>
      severity === 'critical' && hasWarning(name) ? `${alertOf(name)}Critical` : alertOf(name);
    expect(asked.sort(byName)).toEqual(
      all.map((one) => ({ alert: nameOf(one), ...one })).sort(byName),
    );
  });

  it('is raised for each wallet, and the summary begins with its name', () => {
    const ofWallets = rules.filter(({ expr }) => /\bby \(wallet\b/.test(expr));
    expect(ofWallets.length).toBeGreaterThan(30);
    for (const { alert, annotations } of rules) {
      const isOfWallet = ofWallets.some((rule) => rule.alert === alert);
      expect([alert, annotations.summary.startsWith('{{ with $labels.wallet }}')]).toEqual([
        alert,
        isOfWallet,
      ]);
    }
  });

  it('names each alert once, with a severity', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { labels: own } of rules) expect(own.severity).toMatch(/^(critical|warning)$/);
  });
});

describe('ops/grafana-dashboard.json', () => {
  it('asks only for what /metrics has', () => {
    expect(queries.length).toBeGreaterThan(15);
    for (const { title, expr } of queries) {
      expect([title, metricsOf(expr).filter((name) => !names.has(name))]).toEqual([title, []]);
      expect([title, labelsOf(expr).filter((name) => !labels.has(name))]).toEqual([title, []]);
    }
  });

  it('shows every gauge of the status', () => {
    const shown = new Set([...queries, ...rules].flatMap(({ expr }) => metricsOf(expr)));
    const ours = [...names].filter((name) => /^wallet_ledger_(?!.*_(sum|count)$)/.test(name));
    // No operator needs the number of transactions.
    expect(ours.filter((name) => !shown.has(name))).toEqual(['wallet_ledger_transactions']);
  });

  it('filters every metric that has a wallet, and names the wallet of each line', async () => {
    const text = await (await fetch(`${http.url}/metrics`)).text();
    const withWallet = new Set(
      [...text.matchAll(/^(\w+)\{[^}]*wallet="/gm)].map(([, name = '']) => name),
    );
    expect(withWallet.size).toBeGreaterThan(15);
    for (const { title, expr } of queries)
      for (const name of metricsOf(expr).filter((one) => withWallet.has(one)))
        expect([title, expr]).toEqual([
          title,
          expect.stringMatching(new RegExp(`${name}\\{wallet=~"\\$wallet\\|?"`)),
        ]);
    const legends = dashboard.panels.flatMap(({ targets = [] }) => targets);
    for (const { expr, legendFormat } of legends)
      if (/\bby \(wallet, (?!name)/.test(expr)) expect(legendFormat).toMatch(/^\{\{wallet\}\} /);
  });

  it('uses no variable that it does not declare', () => {
    const declared = dashboard.templating.list.map(({ name }) => name);
    const used = queries.flatMap(({ expr }) =>
      [...expr.matchAll(/\$(\w+)/g)].map(([, name]) => name),
    );
    expect(used.filter((name) => !declared.includes(name ?? ''))).toEqual([]);
  });

  it('is provisioned from where compose puts it', () => {
    const { providers } = parse(
      readFileSync('ops/grafana/provisioning/dashboards/wallet-ledger.yml', 'utf8'),
    ) as { providers: { options: { path: string } }[] };
    const { datasources } = parse(
      readFileSync('ops/grafana/provisioning/datasources/prometheus.yml', 'utf8'),
    ) as { datasources: { uid: string; url: string }[] };
    const compose = readFileSync('docker-compose.yml', 'utf8');
    expect(compose).toContain(`./ops/grafana-dashboard.json:${providers[0]?.options.path}/`);
    expect(datasources.map(({ uid, url }) => ({ uid, url }))).toEqual([
      { uid: 'prometheus', url: 'http://prometheus:9090' },
    ]);
    const sources = JSON.stringify(dashboard.panels).match(/"uid":"[^"]+"/g);
    expect(new Set(sources)).toEqual(new Set(['"uid":"prometheus"']));
  });
});
