import { countWords } from '../../kernel/count-words.ts';
import type { LedgerStatus } from '../../ledger/reports/ledger-status.ts';
import { reportOfWallet } from '../../status/report-of-wallet.ts';
import { fitLines } from './fit-lines.ts';

/** Formats the summary after the first full sync: counts; proof, balances and pools of each wallet; queries to try. */
export function demoSummary(
  status: LedgerStatus,
  run: {
    connectionString: string;
    seconds: number;
    requests: number;
    columns: number | undefined;
  },
): string {
  const { transactions, wallets } = status;
  const rate = Math.round(transactions.total / run.seconds);
  const lines = [
    '',
    `  ${countWords(transactions.total)} transactions in ${run.seconds.toFixed(1)} s, details included (${countWords(rate)} a second, ${countWords(run.requests)} requests).`,
    ...(wallets.length === 1
      ? walletLines(status)
      : wallets.flatMap(({ name }) => [
          '',
          `  Wallet ${name}`,
          ...walletLines(reportOfWallet(status, name)),
        ])),
    '',
    '  Queries to paste into psql',
    `    psql "${run.connectionString}"`,
    '',
    ...queries.flatMap(([question, query]) => [`    -- ${question}`, `    ${query}`, '']),
  ];
  // Commands and queries for copying are not wrapped.
  return lines.map((line) => `${isPasted(line) ? line : fitLines(line, run.columns)}\n`).join('');
}

function isPasted(line: string): boolean {
  return /^ {4}(psql|select) /.test(line);
}

function walletLines(status: LedgerStatus): string[] {
  const { transactions, streams, balances } = status;
  return [
    '',
    '  The proof',
    ...streams.map(
      ({ name, serviceTotal, ledgerCount, isComplete }) =>
        `    ${name.padEnd(13)} the service says ${countWords(serviceTotal ?? 0)}, the ledger holds ${countWords(ledgerCount)}: ${isComplete ? 'proven complete' : 'NOT proven complete'}`,
    ),
    `    ${countWords(transactions.final)} final, ${countWords(transactions.total - transactions.final)} not final yet, ${countWords(status.rejects)} values not decoded`,
    '',
    '  Balances',
    ...balances.map(
      ({ symbol, chain, balance, frozen }) => `    ${balanceLine(symbol, chain, balance, frozen)}`,
    ),
    '',
    '  Deposit addresses ready to be handed out',
    ...status.pools.map(
      ({ slip44, available, target, daysLeft }) =>
        `    chain ${String(slip44).padEnd(5)} ${countWords(available)} of ${countWords(target)}, ${daysLeft === null ? 'none taken yet' : `for ${daysLeft} days at the present use`}`,
    ),
  ];
}

const queries = [
  [
    'deposits and withdrawals per coin and state',
    'select symbol, stream, state, count(*), sum(amount) from ledger.transactions where is_listed group by 1, 2, 3 order by 1, 2, 3;',
  ],
  [
    'pending transactions, and when each is checked next',
    'select order_no, type, state, confirm_num, next_check_at from ledger.pending_transactions order by occurred_at;',
  ],
  [
    'the latest changes',
    'select observed_at, order_no, field, old_value, new_value from ledger.transaction_changes order by id desc limit 20;',
  ],
] as const;

function balanceLine(
  symbol: string,
  chain: string,
  balance: string | null,
  frozen: string | null,
): string {
  const held = `${(balance ?? '?').padStart(30)} ${symbol.padEnd(6)} on ${chain}`;
  return frozen !== null && Number(frozen) > 0 ? `${held}, ${frozen} frozen` : held;
}
