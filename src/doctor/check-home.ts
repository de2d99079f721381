import type { LedgerDb } from '../ledger/connection/connect-ledger.ts';
import { readAway, readHiddenFacts, readMoves } from '../ledger/home-store.ts';
import { badFinding, type Finding, okFinding, warningFinding } from './finding.ts';

const name = 'home';

/** Checks that the database is in its home, and reports which facts would reveal a move. */
export async function checkHome(db: LedgerDb, onMove: 'heal' | 'stop'): Promise<Finding[]> {
  const away = await readAway(db);
  if (away !== null) {
    const cure =
      onMove === 'heal'
        ? 'a running daemon sets it right (ON_MOVE=heal); `wallet-ledger recover` says what was found'
        : 'run `wallet-ledger recover`: it says what was found and what to do';
    return [badFinding(name, `the database has moved (${away}): no address is handed out`, cure)];
  }
  const moves = await readMoves(db);
  if (moves.length > 0) {
    const seen = `the database moved (${moves.map(({ what }) => what).join('; ')})`;
    return [warningFinding(name, seen, 'run `wallet-ledger recover`: it says what was set aside')];
  }
  const hidden = await readHiddenFacts(db);
  const known = ['its own rows and tables', 'its database', ...hidden.known].join(', ');
  if (hidden.missing.length === 0)
    return [okFinding(name, `the database is where it was; a move would show by ${known}`)];
  return [
    warningFinding(
      name,
      `a move of the database would show by ${known}; the server hides ${hidden.missing.join(', ')}`,
      'after a failover declare the move as docs/operations.md says under Restore, before addresses are handed out',
    ),
  ];
}
