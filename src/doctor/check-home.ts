import type { LedgerDb } from '../ledger/connection/connect-ledger.ts';
import { readAway, readHiddenFacts } from '../ledger/home-store.ts';
import { readMoves } from '../ledger/move-store.ts';
import { badFinding, type Finding, okFinding, warningFinding } from './finding.ts';

const name = 'home';

/** Checks that the database is in its home, and reports which facts would reveal a move. */
export async function checkHome(db: LedgerDb, onMove: 'heal' | 'stop'): Promise<Finding[]> {
  const away = await readAway(db);
  if (away !== null) {
    const cure =
      onMove === 'heal'
        ? 'a running daemon recovers by itself (ON_MOVE=heal); `wallet-ledger recover` shows what was found'
        : 'run `wallet-ledger recover`: it shows what was found and what to do';
    return [badFinding(name, `the database has moved (${away}): no address is handed out`, cure)];
  }
  const moves = await readMoves(db);
  if (moves.length > 0) {
    const seen = `the database moved (${moves.map(({ what }) => what).join('; ')})`;
    return [
      warningFinding(
        name,
        seen,
        'run `wallet-ledger recover`: it shows which addresses were set aside',
      ),
    ];
  }
  const hidden = await readHiddenFacts(db);
  const known = ['its own rows and tables', 'its database', ...hidden.known].join(', ');
  if (hidden.missing.length === 0)
    return [okFinding(name, `the database has not moved; a move is detected by ${known}`)];
  return [
    warningFinding(
      name,
      `a move of the database is detected only by ${known}; this role cannot read ${hidden.missing.join(', ')}`,
      'after a failover, declare the move before addresses are handed out: docs/operations.md, Restore',
    ),
  ];
}
