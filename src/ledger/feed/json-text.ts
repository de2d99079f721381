import type { FeedEvent } from './event-store.ts';

/** Returns the event in one line of JSON, with the names of its columns. */
export function toJsonText({ seq, recordedAt, kind, key, data }: FeedEvent): string {
  return JSON.stringify({ seq, recorded_at: recordedAt, kind, key, data });
}
