import { migrationNamed } from './migration-named.ts';
import type { PlantedBug } from './planted-bug.ts';

const home = 'test/ledger/home-store.test.ts';
const store = 'src/ledger/home-store.ts';
const schema = migrationNamed('home');
/** The functions that later migrations replaced. */
const replaced = migrationNamed('budget_and_home');
const tickets = 'test/ledger/ticket-source.test.ts';
const moved = 'A moved database hands nothing out twice';
const healed =
  'a healed move sets aside what was available, closes what is open, and has the address lists read anew';

/** Mistakes about where the database lives, and whose it is. */
export const homeBugs: PlantedBug[] = [
  {
    id: 'home-not-asked',
    promise: moved,
    wrong: 'an address is handed out wherever the database has come to',
    file: replaced,
    find: '  IF NOT FOUND THEN PERFORM engine.require_home(); END IF;\n',
    put: '',
    caughtBy: { file: home, name: healed },
  },
  {
    id: 'home-asked-once',
    promise: moved,
    wrong: 'a session that was at home once does not notice that its server was promoted',
    file: replaced,
    find: '               ELSE h.timeline = left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END;',
    put: '               ELSE true END;',
    caughtBy: { file: home, name: 'a session that has found its home asks again for %s' },
  },
  {
    id: 'emptying-unnoticed',
    promise: moved,
    wrong: 'addresses that were deleted and loaded from a backup are trusted',
    file: schema,
    find: "    PERFORM engine.disturb_home('rows of ledger.addresses were deleted');",
    put: '    NULL;',
    caughtBy: {
      file: 'test/docs/restore.test.ts',
      name: 'without a word from anyone nothing is handed out twice, and the problem stands',
    },
  },
  {
    id: 'available-after-a-move',
    promise: moved,
    wrong: 'a new epoch begins and leaves available what may have been handed out',
    file: store,
    find: "set status = 'foreign', set_aside_epoch = ${epoch} where status = 'available'",
    put: "set set_aside_epoch = ${epoch} where status = 'available'",
    caughtBy: { file: home, name: healed },
  },
  {
    id: 'answer-across-a-move',
    promise: moved,
    wrong: 'the answer to a request from before a move makes its addresses available',
    file: store,
    find: 'if (found.rows[0]?.same) return;',
    put: 'if (found.rows.length > 0) return;',
    caughtBy: { file: home, name: 'an answer to a request from before a move is not stored' },
  },
  {
    id: 'same-takes-all',
    promise: moved,
    wrong: 'a clean move makes foreign addresses available that it did not set aside',
    file: store,
    find: '       and set_aside_epoch in (select epoch from engine.moves where acknowledged_at is null)`);',
    put: '`);',
    caughtBy: {
      file: home,
      name: 'after a heal `same` brings back what it set aside and nobody has used since, and no other',
    },
  },
  {
    id: 'any-wallet',
    promise: 'One wallet',
    wrong: 'the settings of another wallet write the ledger',
    file: 'src/ledger/wallet-identity.ts',
    find: "  if (differing) throw new LedgerError('settings', differing, { cure: otherWalletCure });",
    put: "  if (differing === '') throw new LedgerError('settings', differing, { cure: otherWalletCure });",
    caughtBy: {
      file: 'test/whole/wallet-identity.test.ts',
      name: 'the ledger of one wallet refuses the settings of another, says how to go on, and writes nothing',
    },
  },
  {
    id: 'late-ticket-used',
    promise: 'Budget',
    wrong: 'a process that stood still uses all its tickets at once',
    file: 'src/ledger/ticket-source.ts',
    find: 'if (performance.now() - goAt <= lateMsMax) return false;',
    put: 'if (performance.now() - goAt <= lateMsMax || goAt > 0) return false;',
    caughtBy: {
      file: tickets,
      name: 'a process that stood still throws its late tickets away instead of using them all at once',
    },
  },
  {
    id: 'queue-of-the-dead',
    promise: 'Budget',
    wrong: 'slots that a slow process left behind hold back everybody for hours',
    file: replaced,
    find: '  IF slot < ticket.slot_seconds THEN',
    put: '  IF slot < 0 THEN',
    caughtBy: {
      file: tickets,
      name: 'a queue of slow slots that its process left behind holds back a faster one by as many of its own',
    },
  },
  {
    id: 'clock-set-back',
    promise: 'Budget',
    wrong: 'a clock that was set back by an hour holds every request back for an hour',
    file: replaced,
    find: "  went_back := greatest(ticket.asked_at - now_at, interval '0');",
    put: "  went_back := interval '0';",
    caughtBy: { file: tickets, name: 'a clock that goes back takes slots and pauses with it' },
  },
  {
    id: 'budget-forgotten',
    promise: 'Budget',
    wrong: 'after a crash or a move requests go out beside those that were granted before it',
    file: replaced,
    find: '    hold := CASE WHEN slot > 0 THEN least(greatest(50 * slot, 1), 10) ELSE 0 END;',
    put: '    hold := 0;',
    caughtBy: {
      file: tickets,
      name: 'after a crash or a move the first request at %d a second waits for those that were granted before and may still go out',
    },
  },
];
