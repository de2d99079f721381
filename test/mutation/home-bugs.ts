import type { PlantedBug } from './planted-bug.ts';

const moved = 'A moved database hands nothing out twice';
const healed =
  'a healed move sets available addresses aside, closes open requests, and has the address lists read again';

/** Mistakes about the home of the database and its wallet. */
export const homeBugs: PlantedBug[] = [
  {
    id: 'home-not-asked',
    promise: moved,
    wrong: 'an address is handed out wherever the database has been moved',
    in: 'engine.own_place',
    find: 'WHERE h.id = 1 AND',
    put: 'WHERE h.id = 1 OR',
    caughtBy: healed,
  },
  {
    id: 'home-asked-once',
    promise: moved,
    wrong: 'a session that was at home once does not notice that its server was promoted',
    in: 'engine.own_place',
    find: 'h.timeline = left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)',
    put: 'true',
    caughtBy: 'a session that has found its home checks it again for %s',
  },
  {
    id: 'emptying-unnoticed',
    promise: moved,
    wrong: 'addresses that were deleted and loaded from a backup are trusted',
    in: 'engine.notice_emptying',
    find: "PERFORM engine.disturb_home('rows of ledger.addresses were deleted')",
    put: 'NULL',
    caughtBy: 'without a word from anyone nothing is handed out twice, and the problem stands',
  },
  {
    id: 'giving-back-unnoticed',
    promise: moved,
    wrong: 'an older copy of the addresses table that replaced the current one is trusted',
    in: 'engine.notice_giving_back',
    find: "PERFORM engine.disturb_home('addresses that had been handed out were made available again')",
    put: 'NULL',
    caughtBy: 'an older copy of the addresses that is put in place is not handed out again',
  },
  {
    id: 'one-move-twice',
    promise: moved,
    wrong: 'numbers that went back with a restore are a second move after the first one was healed',
    in: 'disturbHomeSince',
    find: 'begun_at <= to_timestamp',
    put: 'now() > to_timestamp',
    caughtBy:
      'numbers that went back in a healed move are no second move, and later ones are detected',
  },
  {
    id: 'healed-once-for-all',
    promise: moved,
    wrong: 'numbers that go back after a healed move are not noticed any more',
    in: 'shareTickets',
    find: 'before.givenMs',
    put: '0',
    caughtBy:
      'numbers that went back in a healed move are no second move, and later ones are detected',
  },
  {
    id: 'available-after-a-move',
    promise: moved,
    wrong: 'a new epoch begins, and addresses stay available that may have been handed out',
    in: 'healHome',
    find: "status = 'foreign',",
    put: '',
    caughtBy: healed,
  },
  {
    id: 'answer-across-a-move',
    promise: moved,
    wrong: 'the answer to a request from before a move makes its addresses available',
    in: 'requireHomeOfRequest',
    find: 'request?.same',
    put: 'request',
    caughtBy: 'an answer to a request from before a move is not stored',
  },
  {
    id: 'answer-by-number-alone',
    promise: moved,
    wrong: 'an answer is stored as that of a later request that has its number since a restore',
    in: 'requireHomeOfRequest',
    find: 'and slip44 = ${slip44} and (owner = ${owner}::text or ${owner}::text is null)',
    put: 'or slip44 = ${slip44} or owner = ${owner}::text',
    caughtBy:
      'an answer is not stored as that of a later request that has its number since a restore',
  },
  {
    id: 'lagging-list-after-a-move',
    promise: moved,
    wrong: 'addresses that the previous home generated count as the lost answer',
    in: 'closeByList',
    find: "and not exists (select from engine.home h where h.epoch > 1 and h.begun_at > now() - interval '24 hours')",
    put: '',
    caughtBy: 'after a move no address of a lagging list is taken for the lost answer',
  },
  {
    id: 'order-by-clock',
    promise: 'Pools hand out once',
    wrong: 'the clock decides if an address is older than the request',
    in: 'closeByList',
    find: 'where a.generated_by is null and a.after_request >= r.id\n',
    put: 'where a.generated_by is null and a.first_seen_at > r.requested_at\n',
    caughtBy:
      'an address that was listed before the request is not its answer, although the clock went back meanwhile',
  },
  {
    id: 'same-takes-all',
    promise: moved,
    wrong: 'a move without loss makes foreign addresses available that it did not set aside',
    in: 'acceptMove',
    find: 'and set_aside_epoch in (select m.epoch from engine.moves m',
    put: 'and exists (select from engine.moves m',
    caughtBy:
      'after a heal `same` restores only addresses that it set aside and nobody has used since',
  },
  {
    id: 'move-of-all-wallets',
    promise: moved,
    wrong: 'an operator’s statement about one wallet closes the move for all',
    in: 'acknowledgeMoves',
    find: 'cardinality(${waitingFor}) = 0',
    put: 'cardinality(${waitingFor}) >= 0',
    caughtBy:
      'an operator’s statement about one wallet leaves the addresses of the others set aside',
  },
  {
    id: 'any-wallet',
    promise: 'One wallet',
    wrong: 'the ledger can be written with the settings of another wallet',
    in: 'requireWallet',
    find: 'if (differing)',
    put: "if (differing === '')",
    caughtBy:
      'the ledger of one wallet refuses the settings of another, says how to go on, and writes nothing',
  },
  {
    id: 'owner-compared-once',
    promise: 'One wallet',
    wrong: 'a daemon goes on writing after the ledger was given to another wallet',
    in: 'settleHome',
    find: 'if (identity)',
    put: 'if (identity && away)',
    caughtBy:
      'a daemon whose wallet the ledger no longer keeps stores and generates nothing more, and says so',
  },
  {
    id: 'address-for-a-former-owner',
    promise: 'One wallet',
    wrong: 'a pass that began before generates addresses with the former key',
    in: 'openPoolRequests',
    find: "if (decision.write?.kind === 'open')",
    put: "if (decision.write?.kind === 'lose')",
    caughtBy:
      'a pass that runs while the ledger is given to another wallet generates no address any more',
  },
  {
    id: 'answer-for-a-former-owner',
    promise: 'One wallet',
    wrong: 'addresses that the former key generated join the pool of the new owner',
    in: 'openPoolPort',
    find: 'await requireOwn(db)',
    put: 'requireOwn.length',
    caughtBy:
      'addresses that are generated while the ledger is given to another wallet do not join its pool',
  },
  {
    id: 'late-ticket-used',
    promise: 'Budget',
    wrong: 'a process that hung uses all its tickets at once',
    in: 'shareTickets',
    find: 'performance.now() <= lateAt',
    put: 'goAt <= lateAt',
    caughtBy: 'a process that hung discards its late tickets instead of using them all at once',
  },
  {
    id: 'delay-is-distance',
    promise: 'Budget',
    wrong: 'a process whose first answer was delayed sends all its requests late by the same time',
    in: 'watchClock',
    find: 'comparisons < firstComparisons',
    put: 'comparisons < 0 * firstComparisons',
    caughtBy:
      'a process whose first ticket arrives late does not take the delay for a difference of the clocks',
  },
  {
    id: 'queue-of-the-dead',
    promise: 'Budget',
    wrong: 'slots that a slow process left delay all others for hours',
    in: 'engine.take_slots',
    find: 'IF slot < ticket.slot_seconds',
    put: 'IF slot < 0',
    caughtBy:
      'slow slots queued by a process that has ended delay a faster process by at most as many of its own slots',
  },
  {
    id: 'clock-set-back',
    promise: 'Budget',
    wrong: 'a clock that was set back by an hour delays every request for an hour',
    in: 'engine.take_slots',
    find: "greatest(ticket.asked_at - now_at, interval '0')",
    put: "interval '0'",
    caughtBy: 'slots and pauses move with a clock that goes back',
  },
  {
    id: 'budget-forgotten',
    promise: 'Budget',
    wrong: 'after a crash or a move requests are sent together with those granted before it',
    in: 'engine.take_slots',
    find: 'CASE WHEN slot > 0 THEN least(greatest(50 * slot, 1), 10) ELSE 0 END',
    put: '0',
    caughtBy:
      'after a crash or a move the first request at %d per second waits for earlier requests that may still be sent',
  },
];
