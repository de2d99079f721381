import type { TransactionRecord } from '../kernel/wallet-records.ts';
import type { StateSeen } from '../ledger/transactions/read-states-seen.ts';
import { type Finding, okFinding, warningFinding } from './finding.ts';

const oldMs = 7 * 86_400_000;

/** Counts the states of sampled rows in the same form as the ledger's. `now` is in Unix milliseconds. */
export function statesOf(rows: readonly TransactionRecord[], now: number): StateSeen[] {
  const states = new Map<string, StateSeen>();
  for (const { state, occurredAt } of rows) {
    if (state === null) continue;
    const seen = states.get(state) ?? { state, rows: 0, oldRows: 0 };
    states.set(state, seen);
    seen.rows += 1;
    seen.oldRows += Number(occurredAt !== null && occurredAt < now - oldMs);
  }
  return [...states.values()];
}

/** Reports the states that occur, and which of them are final by WALLET_FINAL_STATES. `final` is in lower case. */
export function checkStates(states: readonly StateSeen[], final: ReadonlySet<string>): Finding[] {
  const name = 'states';
  if (states.length === 0) {
    return [
      warningFinding(
        name,
        'the service listed no transaction',
        'run the command again when there are some',
      ),
    ];
  }
  const isFinal = ({ state }: StateSeen) => final.has(state.trim().toLowerCase());
  const finalSeen = namesOf(states.filter(isFinal));
  const open = states.filter((each) => !isFinal(each));
  const seen = `final: ${finalSeen || 'none'}; not final: ${namesOf(open) || 'none'}`;
  // A row leaves an intermediate state soon, so a state with mostly old rows is probably final.
  const suspects = namesOf(open.filter(({ rows, oldRows }) => oldRows > rows / 2));
  if (suspects !== '') {
    const cure = `ask the operator of the service if these states are final; if so, add them to WALLET_FINAL_STATES: ${suspects}`;
    return [warningFinding(name, `${seen}; most rows of ${suspects} are older than 7 days`, cure)];
  }
  if (finalSeen !== '') return [okFinding(name, seen)];
  return [warningFinding(name, seen, 'list the final states in WALLET_FINAL_STATES')];
}

function namesOf(states: readonly StateSeen[]): string {
  return [...new Set(states.map(({ state }) => state))].join(', ');
}
