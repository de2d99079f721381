import { html } from 'hono/html';
import type { Problem } from '../../ledger/reports/ledger-status.ts';
import type { DailyFlows } from '../../ledger/reports/read-flows.ts';
import { listProblems, type Verdict, verdictOn } from '../../status/list-problems.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { agoWords, secondsBetween, verdictWords } from '../../status/status-words.ts';
import {
  dateWords,
  foreign,
  type Html,
  type Page,
  type PartName,
  section,
  withCode,
} from '../page/page-frame.ts';
import { balanceSection } from './balance-section.ts';
import { calendarSection } from './calendar-section.ts';
import { feedSection } from './feed-section.ts';
import { flowSection } from './flow-section.ts';
import { poolSection } from './pool-section.ts';
import { errorSection, runSection } from './run-section.ts';
import { factSection, streamSection } from './stream-section.ts';
import { walletSection } from './wallet-section.ts';

/**
 * Renders the status of a wallet as a page that is complete without script. All text from outside is escaped. `wallet`
 * is its name, null where there is only one.
 */
export async function renderStatus(
  report: StatusReport,
  flows: DailyFlows | null,
  wallet: string | null = null,
): Promise<Page> {
  const { title, ...parts } = attention(report, wallet);
  return {
    title,
    parts: await toTexts({
      ...parts,
      streams: streamSection(report.streams),
      calendar: calendarSection(report),
      facts: factSection(report),
      flows: flowSection(flows),
      balances: balanceSection(report),
      pools: poolSection(report),
      feed: feedSection(report),
      runs: runSection(report),
      errors: errorSection(report),
    }),
  };
}

/** Renders the status of a ledger with several wallets. `services`: see `walletSection`. */
export async function renderLedger(
  report: StatusReport,
  services: ReadonlyMap<string, string>,
): Promise<Page> {
  const { title, ...parts } = attention(report, null);
  return {
    title,
    parts: await toTexts({
      ...parts,
      wallets: walletSection(report, services),
      facts: factSection(report),
      feed: feedSection(report),
      errors: errorSection(report, true),
    }),
  };
}

function attention(report: StatusReport, wallet: string | null) {
  const problems = listProblems(report);
  const words = verdictWords(problems);
  return {
    title: `wallet-ledger${wallet === null ? '' : ` ${wallet}`}: ${words.toLowerCase()}`,
    verdict: verdict(
      verdictOn(problems),
      words,
      html`as of <time datetime="${report.readAt}">${dateWords(report.readAt)}</time>`,
    ),
    problems: problemSection(problems, report),
  };
}

/** Renders the page that is shown while the status cannot be read. */
export async function renderFailure(failure: { message: string; cure: string }): Promise<Page> {
  const problem: Problem = {
    name: 'status_unreadable',
    severity: 'critical',
    since: null,
    what: failure.message,
    cure: failure.cure,
  };
  return {
    title: 'wallet-ledger: no status',
    parts: await toTexts({
      verdict: verdict('critical', 'The status cannot be read', ''),
      problems: problemSection([problem], { readAt: '', wallets: [] }),
    }),
  };
}

async function toTexts(parts: Partial<Record<PartName, Html | string>>): Promise<Page['parts']> {
  const texts = Object.entries(parts).map(async ([name, part]) => [name, String(await part)]);
  return Object.fromEntries(await Promise.all(texts));
}

const marks: Record<Verdict, { mark: string; tone: string; ground: string }> = {
  ok: { mark: '✓', tone: 'good', ground: '' },
  attention: { mark: '!', tone: 'warn', ground: 'doubtful' },
  critical: { mark: '✗', tone: 'bad', ground: 'wrong' },
};

/**
 * Marks only the verdict as a live region: the time beside it changes with every update and would be read aloud each
 * time.
 */
function verdict(kind: Verdict, words: string, asOf: Html | string): Html {
  const { mark, tone, ground } = marks[kind];
  return html`<div class="verdict ${ground}"><p class="${tone}" role="status" aria-live="polite">
<strong><span aria-hidden="true">${mark}</span> ${words}</strong></p><p class="soft">${asOf}</p></div>`;
}

/** Names the wallet of each problem if there are several. */
function problemSection(
  problems: Problem[],
  { readAt, wallets }: Pick<StatusReport, 'readAt' | 'wallets'>,
): Html | string {
  if (problems.length === 0) return '';
  const shown = (wallet = '') => (wallet === '' || wallets.length < 2 ? '' : `${wallet} · `);
  const items = problems.map(
    ({ severity, since, what, cure, wallet }) =>
      html`<li><p class="${severity === 'critical' ? 'bad' : 'warn'}"><strong>${severity}</strong> · ${shown(wallet)}${foreign(what)}</p>
${since === null ? '' : html`<p class="soft">since <time datetime="${since}">${dateWords(since)}</time>, ${agoWords(secondsBetween(since, readAt))}</p>`}
<p class="soft">What to do: ${withCode(cure)}</p></li>`,
  );
  return section('problems', 'Needs attention', html`<ul class="stack">${items}</ul>`);
}
