import type { WalletStatus } from '../../ledger/reports/ledger-status.ts';
import { reportOfWallet } from '../../status/report-of-wallet.ts';
import type { StatusReport } from '../../status/status-report.ts';
import { attentionLines } from './attention-lines.ts';
import { balanceLines } from './balance-lines.ts';
import { feedLines } from './feed-lines.ts';
import { poolLines } from './pool-lines.ts';
import { proofLines } from './proof-lines.ts';
import { createCanvas } from './terminal-text.ts';
import { errorLines, queueLine, runLines } from './work-lines.ts';

const widthMin = 60;
const widthMax = 100;

/**
 * Formats the status for a terminal of `columns` (undefined: not a terminal), 60 to 100 columns wide. Problems come
 * first. If there are several wallets, each has its own heading. Without `useColor` the text has no escape codes.
 */
export function printStatus(
  report: StatusReport,
  { useColor, columns }: { useColor: boolean; columns: number | undefined },
): string {
  const width = Math.min(widthMax, Math.max(widthMin, columns ?? widthMax));
  const canvas = createCanvas({ width, useColor });
  const titled = (title: string, lines: string[]) =>
    lines.length === 0 ? [] : ['', canvas.paint('bold', title), ...lines];
  const ofWallet = (own: StatusReport) => [
    ...titled(
      'Proof: rows in the ledger, of those that the service counts',
      proofLines(own, canvas),
    ),
    ...titled('Address pools: refilled below ┃', poolLines(own, canvas)),
    ...titled('Balances', balanceLines(own, canvas)),
  ];
  const ofLedger = [
    ...titled('Change feed', feedLines(report, canvas)),
    ...titled('Queue', [queueLine(report)]),
  ];
  const workOf = (own: StatusReport) => [
    ...titled('Last runs', runLines(own, canvas)),
    ...titled('Last errors', errorLines(own, canvas)),
  ];
  const body =
    report.wallets.length === 1
      ? [...ofWallet(report), ...ofLedger, ...workOf(report)]
      : [...report.wallets.flatMap(walletLines), ...ofLedger];
  return `${[...attentionLines(report, canvas), ...body].join('\n')}\n`;

  function walletLines({ name, isResting, counts }: WalletStatus): string[] {
    const heading = canvas.paint(['bold', 'inverse'], ` Wallet ${name} `);
    if (isResting) return ['', `${heading} resting: it is kept and no longer read`];
    if (counts === null) return ['', `${heading} not shown: WALLETS does not name it here`];
    const own = reportOfWallet(report, name);
    return ['', heading, ...ofWallet(own), ...workOf(own)];
  }
}
