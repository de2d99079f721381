import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseSettings } from '../src/config/parse-settings.ts';
import { settingsTable } from '../src/config/settings-table.ts';
import { isLoopbackHost } from '../src/kernel/loopback.ts';
import { createCredentials, type SignerName } from '../src/sandbox/signing-recipes.ts';
import { usualImages } from './support/container-images.ts';
import { openHttp } from './support/with-http.ts';

type Service = {
  image: string;
  command?: string[];
  environment?: Record<string, string>;
  ports?: string[];
  network_mode?: string;
  networks?: { default: { aliases: string[] } };
  volumes?: string[];
  configs?: { source: string; target: string }[];
  profiles?: string[];
  healthcheck?: { test: string[] };
  read_only?: boolean;
  user?: string;
  cap_drop?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
};

const text = readFileSync(new URL('../docker-compose.yml', import.meta.url), 'utf8');
const secrets = ['POSTGRES_PASSWORD', 'HTTP_TOKEN', 'GRAFANA_PASSWORD'];
/** As docker compose does with an environment in which each secret is its own name, twice. */
const filledIn = text.replace(/\$\{(\w+):\?[^}]*\}/g, '$1.$1');
type Compose = {
  services: Record<string, Service>;
  configs: Record<string, { content: string }>;
  volumes: Record<string, null>;
};
const { services, configs, volumes } = parse(filledIn, { merge: true }) as Compose;

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

  it('[S14] has no password of its own, and starts without none of them', () => {
    const required = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name);
    expect(new Set(required)).toEqual(new Set(secrets));
    expect(filledIn).not.toContain('$');
    const given = Object.values(services).flatMap(({ environment: own = {} }) =>
      Object.entries(own).filter(([name]) => /PASSWORD|TOKEN|SECRET|DATABASE_URL/.test(name)),
    );
    // The sandbox makes its key from a seed, and listens for the daemon alone.
    const open = given.filter(
      ([name, value]) =>
        name !== 'WALLET_API_SECRET' && !secrets.some((one) => value.includes(one)),
    );
    expect(open).toEqual([]);
    expect(sandbox.command).not.toContain('--host');
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
      `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@postgres:5432/${POSTGRES_DB}?sslmode=disable`,
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
    const tagOf = (name: string) => service(name).image.split('@')[0];
    expect({ postgres: tagOf('postgres'), redis: tagOf('redis') }).toEqual(usualImages);
  });

  it('[S14] runs every container without root, without rights, and on a file system of stone', () => {
    for (const [name, one] of Object.entries(services)) {
      const { read_only, user, cap_drop, security_opt } = one;
      expect([name, read_only, cap_drop, security_opt]).toEqual([
        name,
        true,
        ['ALL'],
        ['no-new-privileges:true'],
      ]);
      expect([name, user]).toEqual([name, expect.not.stringMatching(/^(0|root)$/)]);
    }
  });

  it('asks every container for its health, and gives the daemon longer than it takes to stop', () => {
    for (const [name, { healthcheck }] of Object.entries(services))
      expect([name, healthcheck?.test[0]]).toEqual([name, 'CMD']);
    expect(daemon.stop_grace_period).toBe('35s');
  });

  it('names the exact version of every image of others', () => {
    const images = Object.values(services).map(({ image }) => image);
    const loose = images.filter(
      (image) => image !== 'wallet-ledger' && !/:v?\d+(\.\d+)+(-\w+)?(@sha256:\w+)?$/.test(image),
    );
    expect(loose).toEqual([]);
  });

  it('mounts files that exist, and volumes that are declared', () => {
    const sources = Object.values(services).flatMap(({ volumes: mounts = [] }) =>
      mounts.map((mount) => mount.split(':')[0] ?? ''),
    );
    const files = sources.filter((source) => source.startsWith('.'));
    expect(files).not.toEqual([]);
    expect(files.filter((file) => !existsSync(resolve(file)))).toEqual([]);
    const named = sources.filter((source) => !source.startsWith('.'));
    expect(new Set(named)).toEqual(new Set(Object.keys(volumes)));
  });

  it('starts Prometheus and Grafana only where they are asked for', () => {
    const optional = Object.keys(services).filter((name) => services[name]?.profiles);
    expect(optional).toEqual(['prometheus', 'grafana']);
  });

  it('lets Prometheus in, at an address that leads to the daemon', () => {
    const config = parse(readFileSync('ops/prometheus.yml', 'utf8')) as {
      rule_files: string[];
      scrape_configs: {
        authorization: { credentials_file: string };
        static_configs: { targets: string[] }[];
      }[];
    };
    const [scrape] = config.scrape_configs;
    const port = settings.http?.port;
    expect(scrape?.static_configs[0]?.targets).toEqual([`wallet-ledger:${port}`]);
    expect(sandbox.networks?.default.aliases).toContain('wallet-ledger');
    const [secret] = service('prometheus').configs ?? [];
    expect(secret?.target).toBe(`/etc/prometheus/${scrape?.authorization.credentials_file}`);
    expect(configs[secret?.source ?? '']?.content).toBe(settings.http?.token);
    for (const file of config.rule_files) {
      const mount = `./ops/${file}:/etc/prometheus/${file}:ro`;
      expect(service('prometheus').volumes).toContain(mount);
    }
  });
});

describe('Dockerfile', () => {
  const dockerfile = readFileSync('Dockerfile', 'utf8');

  it('leaves the build and its packages behind, and root', () => {
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:24\.\d+\.\d+-slim(@sha256:\w+)?$/m);
    expect(dockerfile.match(/^FROM \$\{NODE_IMAGE\}/gm)).toHaveLength(2);
    expect(dockerfile).toContain('npm prune --omit=dev');
    expect(dockerfile).toMatch(/^USER node$/m);
  });

  it('copies what .dockerignore lets through, and starts the bin', () => {
    const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      bin: Record<string, string>;
    };
    expect(dockerfile).toContain(`ENTRYPOINT ["node", "/app/${bin['wallet-ledger']}"]`);
    const letThrough = readFileSync('.dockerignore', 'utf8').matchAll(/^!(.+)$/gm);
    const missing = [...letThrough].filter(([, path = '']) => !existsSync(path));
    expect(missing).toEqual([]);
  });

  it('sets nothing that is not a setting', () => {
    const names = [...dockerfile.matchAll(/\b([A-Z][A-Z_]+)=/g)].map(([, name = '']) => name);
    const others = names.filter((name) => !Object.hasOwn(settingsTable, name));
    expect(others).toEqual(['NODE_IMAGE', 'NODE_ENV', 'NODE_OPTIONS']);
  });

  it('asks for its health at paths that exist and are open to all', async () => {
    const http = await openHttp({ token: 'secret' });
    const checks = [dockerfile, text].flatMap((one) => [
      ...one.matchAll(/(\/(healthz|readyz))`?'?\)/g),
    ]);
    expect(new Set(checks.map(([, path]) => path))).toEqual(new Set(['/healthz', '/readyz']));
    for (const [, path] of checks) expect((await fetch(http.url + path)).status).toBe(200);
    await http.close();
  });
});
