import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseSettings } from '../src/config/parse-settings.ts';
import { settingsTable } from '../src/config/settings-table.ts';
import { isLoopbackHost } from '../src/config/url-parsers.ts';
import { createCredentials, type SignerName } from '../src/sandbox/signing-recipes.ts';
import { usualImages } from './support/container-images.ts';

type Service = {
  image: string;
  command?: string[];
  environment?: Record<string, string>;
  ports?: string[];
  network_mode?: string;
};

const text = readFileSync(new URL('../docker-compose.yml', import.meta.url), 'utf8');
// As docker compose does where the environment sets none of the variables.
const withDefaults = text.replace(/\$\{\w+:-([^}]*)\}/g, '$1');
const { services } = parse(withDefaults, { merge: true }) as { services: Record<string, Service> };

function service(name: string): Service {
  const found = services[name];
  if (!found) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
}

function option(command: string[] = [], name: string): string {
  return command[command.indexOf(`--${name}`) + 1] ?? '';
}

describe('docker-compose.yml', () => {
  const sandbox = service('sandbox');
  const daemon = service('wallet-ledger');
  const environment = daemon.environment ?? {};
  const settings = parseSettings(
    environment,
    (path) => {
      throw new Error(`${path} is not in the container`);
    },
    { needs: ['service'] },
  );

  it('sets nothing that is not a setting of the program', () => {
    const ours = Object.values(services).filter(({ image }) => image === 'wallet-ledger');
    const names = ours.flatMap((one) => Object.keys(one.environment ?? {}));
    expect(names).not.toEqual([]);
    expect(names.filter((name) => !Object.hasOwn(settingsTable, name))).toEqual([]);
    expect(settings.warnings).toEqual([]);
  });

  it('needs no variable of the environment', () => {
    expect(withDefaults).not.toContain('$');
  });

  it('gives the daemon the address and the credentials of its sandbox', () => {
    const signer = option(sandbox.command, 'signer') as SignerName;
    const seed = Number(option(sandbox.command, 'seed'));
    expect(settings.service).toMatchObject({
      baseUrl: `http://127.0.0.1:${option(sandbox.command, 'port')}/api`,
      ...createCredentials(signer, seed, { apiKey: null, apiSecret: null }),
    });
    expect(daemon.network_mode).toBe('service:sandbox');
  });

  it('gives the daemon its PostgreSQL and its Redis', () => {
    const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = service('postgres').environment ?? {};
    expect(settings.database.url).toBe(
      `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@postgres:5432/${POSTGRES_DB}`,
    );
    expect(settings.queue.redisUrl).toBe('redis://redis:6379');
    expect(service('redis').command?.join(' ')).toContain('--maxmemory-policy noeviction');
  });

  it('publishes the status pages, and nothing off loopback', () => {
    const published = Object.values(services).flatMap(({ ports }) => ports ?? []);
    const hosts = published.map((port) => port.split(':')[0] ?? '');
    expect(hosts.filter((host) => !isLoopbackHost(host))).toEqual([]);
    expect(sandbox.ports).toEqual([expect.stringMatching(`:${settings.http?.port}$`)]);
    expect(isLoopbackHost(settings.http?.host ?? '')).toBe(false);
  });

  it('runs the images that the tests run', () => {
    expect({ postgres: service('postgres').image, redis: service('redis').image }).toEqual(
      usualImages,
    );
  });
});
