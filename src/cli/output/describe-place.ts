import { hostname } from 'node:os';
import type { Place } from '../../http/page/place.ts';
import { isLoopbackHost } from '../../kernel/loopback.ts';
import { redactValues } from '../../kernel/redact.ts';
import type { CommandContext } from '../context/command-context.ts';
import { readVersion } from '../read-version.ts';

/**
 * Describes in words which wallets, services, database and version a daemon runs with, without credentials. `wallets`:
 * default all of the settings.
 */
export function describePlace(
  { settings, redact }: CommandContext,
  wallets: readonly string[] = settings.walletNames,
): Place {
  const { url, dataDir } = settings.database;
  const addresses = settings.wallets
    .filter(({ name }) => wallets.includes(name))
    .flatMap(({ service }) => service?.baseUrl ?? []);
  const place = {
    environment: settings.http?.environment ?? (addresses.some(isOnThisMachine) ? 'sandbox' : null),
    wallet: wallets.join(', '),
    service: [...new Set(addresses.map(withoutScheme))].join(', ') || 'none',
    database: url === null ? `embedded in ${dataDir}` : withoutScheme(url),
    version: readVersion(),
    daemon: `${hostname()}, process ${process.pid}`,
  };
  return redactValues(place, redact);
}

/** A service on this machine counts as an emulator. If a tunnel leads to a real one, LEDGER_ENVIRONMENT names it. */
function isOnThisMachine(url: string): boolean {
  return URL.canParse(url) && isLoopbackHost(new URL(url).hostname);
}

/** `postgres://user:secret@db:5432/ledger?sslmode=require` → `db:5432/ledger`. */
export function withoutScheme(url: string): string {
  if (!URL.canParse(url)) return 'not known';
  const { host, pathname } = new URL(url);
  return `${host}${pathname.replace(/\/$/, '')}`;
}
