/** Channel that the database notifies when events get their numbers, for everyone. */
export const eventsChannel = 'ledger_events';
/** Channel that wakes the daemons, so that they give committed events their numbers. */
export const outboxChannel = 'ledger_outbox';
/** Advisory lock that a daemon holds, shared, while it gives numbers; `engine.sequence_if_alone` looks for it. */
export const sequencerLock = 7_246_006;
