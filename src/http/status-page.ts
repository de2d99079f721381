import { html } from 'hono/html';
import type { DailyFlows } from '../ledger/read-flows.ts';
import { balanceSection } from './balance-section.ts';
import { flowSection } from './flow-section.ts';
import { dateWords, foreign, type Html, type Page, type PartName, section } from './page-frame.ts';
import { poolSection } from './pool-section.ts';
import { errorSection, runSection } from './run-section.ts';
import { listProblems, type Problem } from './status-problems.ts';
import type { StatusReport } from './status-report.ts';
import { factSection, streamSection } from './stream-section.ts';

/** The status as a page: complete without script, every foreign text escaped. */
export async function renderStatus(report: StatusReport, flows: DailyFlows | null): Promise<Page> {
  const problems = listProblems(report);
  const attention =
    problems.length === 1 ? '1 thing needs attention' : `${problems.length} things need attention`;
  const isWell = problems.length === 0;
  return {
    title: `wallet-ledger: ${isWell ? 'all is well' : attention}`,
    parts: await toTexts({
      verdict: verdict(
        isWell,
        isWell ? 'All is well' : attention,
        html`as of <time datetime="${report.readAt}">${dateWords(report.readAt)}</time>`,
      ),
      problems: problemSection(problems),
      streams: streamSection(report.streams),
      facts: factSection(report),
      flows: flowSection(flows),
      balances: balanceSection(report),
      pools: poolSection(report),
      runs: runSection(report),
      errors: errorSection(report),
    }),
  };
}

/** The page while the status cannot be read. */
export async function renderFailure(failure: { message: string; cure: string }): Promise<Page> {
  const problem: Problem = { what: failure.message, cure: failure.cure };
  return {
    title: 'wallet-ledger: no status',
    parts: await toTexts({
      verdict: verdict(false, 'The status cannot be read', ''),
      problems: problemSection([problem]),
    }),
  };
}

async function toTexts(parts: Partial<Record<PartName, Html | string>>): Promise<Page['parts']> {
  const texts = Object.entries(parts).map(async ([name, part]) => [name, String(await part)]);
  return Object.fromEntries(await Promise.all(texts));
}

/** Only the verdict is read aloud when it changes: the time beside it always does. */
function verdict(isWell: boolean, words: string, asOf: Html | string): Html {
  return html`<div class="verdict ${isWell ? '' : 'wrong'}"><p class="${isWell ? 'good' : 'bad'}" role="status" aria-live="polite">
<strong><span aria-hidden="true">${isWell ? '✓' : '✗'}</span> ${words}</strong></p><p class="soft">${asOf}</p></div>`;
}

function problemSection(problems: Problem[]): Html | string {
  if (problems.length === 0) return '';
  const items = problems.map(
    ({ what, cure }) =>
      html`<li><p class="bad">${foreign(what)}</p><p class="soft">What to do: ${foreign(cure)}</p></li>`,
  );
  return section('problems', 'Needs attention', html`<ul class="stack">${items}</ul>`);
}
