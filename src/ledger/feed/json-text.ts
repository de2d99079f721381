import { printableJson } from '../../kernel/printable-json.ts';
import type { FeedEvent } from './event-store.ts';

/** Returns the event in one line of JSON, with the names of its columns. */
export function toJsonText({ seq, recordedAt, wallet, kind, key, data }: FeedEvent): string {
  return printableJson(JSON.stringify({ seq, recorded_at: recordedAt, wallet, kind, key, data }));
}
