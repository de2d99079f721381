import type { Place } from '../http/place.ts';
import { redactValues } from '../kernel/redact.ts';
import type { CommandContext } from './command-context.ts';
import { readVersion } from './read-version.ts';

/**
 * Says in words which wallets, services, database and version a daemon runs with, without credentials. `wallets`:
 * default all of the settings.
 */
export function describePlace(
  { settings, redact }: CommandContext,
  wallets: readonly string[] = settings.walletNames,
): Place {
  const { url, dataDir } = settings.database;
  const services = settings.wallets
    .filter(({ name }) => wallets.includes(name))
    .map(({ service }) => (service ? withoutScheme(service.baseUrl) : 'none'));
  const place = {
    wallet: wallets.join(', '),
    service: [...new Set(services)].join(', '),
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
