import { pgSchema, timestamp } from 'drizzle-orm/pg-core';

export const ledger = pgSchema('ledger');

/** timestamptz, read as ISO-like text so that no microsecond is lost on the way. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'string' });
