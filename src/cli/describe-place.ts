import type { Place } from '../http/place.ts';
import { redactValues } from '../kernel/redact.ts';
import type { CommandContext } from './command-context.ts';
import { readVersion } from './read-version.ts';

/** Says in words which wallet, service, database and version a daemon runs with, without credentials. */
export function describePlace({ settings, redact }: CommandContext): Place {
  const { url, dataDir } = settings.database;
  const place = {
    wallet: settings.wallet,
    service: settings.service ? withoutScheme(settings.service.baseUrl) : 'none',
    database: url === null ? `embedded in ${dataDir}` : withoutScheme(url),
    version: readVersion(),
  };
  return redactValues(place, redact);
}

/** `postgres://user:secret@db:5432/ledger?sslmode=require` → `db:5432/ledger`. */
function withoutScheme(url: string): string {
  if (!URL.canParse(url)) return 'not known';
  const { host, pathname } = new URL(url);
  return `${host}${pathname.replace(/\/$/, '')}`;
}
