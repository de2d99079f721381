import { pgSchema, timestamp } from 'drizzle-orm/pg-core';

export const ledger = pgSchema('ledger');

/** Column of type timestamptz, read as ISO-like text, which keeps the microseconds. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'string' });
