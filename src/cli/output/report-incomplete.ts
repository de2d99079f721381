import type { Settings } from '../../config/settings.ts';
import { countWords } from '../../kernel/count-words.ts';
import type { LedgerDb } from '../../ledger/connection/connect-ledger.ts';
import { readStreamCounts } from '../../ledger/lists/stream-store.ts';
import { readRefusedDetails } from '../../ledger/transactions/refused-details.ts';
import { readOpenRejects } from '../../ledger/transactions/reject-store.ts';
import { forWallet } from '../context/command-context.ts';
import { jsonDocument } from './json-document.ts';
import { refusedDetailsWords } from './refused-details-words.ts';

/**
 * Prints the counts of each list, and after them the incomplete parts with the cure; with `isJson` the same as a
 * document on stdout. Resolves to the exit code: 0, or 3 when a part is incomplete.
 */
export async function reportIncomplete(
  db: LedgerDb,
  incomplete: string[],
  { settings, isJson }: { settings: Settings; isJson: boolean },
): Promise<number> {
  const streams = await readStreamCounts(db);
  if (isJson) process.stdout.write(jsonDocument({ streams, incomplete }));
  else process.stderr.write(streams.map(lineOf).join(''));
  if (incomplete.length === 0) return 0;
  const refused = incomplete.includes('details') ? await readRefusedDetails(db) : null;
  const parts = incomplete.map((part) =>
    part === 'details' && refused ? `details (${refusedDetailsWords(refused)})` : part,
  );
  const hasRejects = (await readOpenRejects(db, { after: 0, limit: 1, ids: null })).length > 0;
  const where = `\`wallet-ledger status\`${hasRejects ? ' and the table ledger.rejects' : ''}`;
  const line = `wallet-ledger: incomplete: ${parts.join(', ')}; see ${where}, then run the command again\n`;
  process.stderr.write(forWallet(settings, line));
  return 3;
}

type StreamCounts = Awaited<ReturnType<typeof readStreamCounts>>[number];

function lineOf({ name, serviceTotal, ledgerCount, isComplete }: StreamCounts): string {
  const proof = isComplete ? 'proven complete' : 'NOT proven complete';
  const says = serviceTotal === null ? 'no total' : countWords(serviceTotal);
  return `${name}: the service says ${says}, the ledger holds ${countWords(ledgerCount)} · ${proof}\n`;
}
