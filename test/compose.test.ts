import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseSettings } from '../src/config/parse-settings.ts';
import { settingsTable } from '../src/config/settings-table.ts';
import { isLoopbackHost } from '../src/kernel/loopback.ts';
import {
  createCredentials,
  type SignerName,
} from '../src/sandbox/authentication/signing-recipes.ts';
import { usualImages } from './support/container-images.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { openHttp } from './support/with-http.ts';

type Service = {
  image: string;
  command?: string[];
  environment?: Record<string, string>;
  ports?: string[];
  network_mode?: string;
  networks?: { default: { aliases: string[] } };
  volumes?: string[];
  env_file?: string[];
  secrets?: string[];
  entrypoint?: string[];
  tmpfs?: string[];
  profiles?: string[];
  healthcheck?: { test: string[] };
  read_only?: boolean;
  user?: string;
  cap_drop?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
};

type Compose = {
  services: Record<string, Service>;
  configs?: object;
  secrets?: Record<string, { file: string }>;
  volumes: Record<string, null>;
};

const secrets = ['POSTGRES_PASSWORD', 'HTTP_TOKEN', 'GRAFANA_PASSWORD'];

/** Reads a compose file as docker compose does with an environment in which each secret is its own name, twice. */
function readCompose(file: string) {
  const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
  const filledIn = text.replace(/\$\{(\w+):\?[^}]*\}/g, '$1.$1');
  return { text, filledIn, ...(parse(filledIn, { merge: true }) as Compose) };
}

function serviceOf({ services }: Compose, name: string): Service {
  const found = services[name];
  if (!found) throw new Error(`the compose file has no service ${name}`);
  return found;
}

function option(command: string[] = [], name: string): string {
  return command[command.indexOf(`--${name}`) + 1] ?? '';
}

const files = ['docker-compose.yml', 'docker-compose.service.yml'];

describe.each(files)('%s', (file) => {
  const compose = readCompose(file);
  const { text, filledIn, services, configs, volumes } = compose;

  it('[S14] has no password of its own, and starts without none of them', () => {
    const required = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name);
    expect(new Set(required)).toEqual(new Set(secrets));
    // `$$` is a `$` of the container's own shell.
    expect(filledIn.replaceAll('$$', '')).not.toContain('$');
    const given = Object.values(services).flatMap(({ environment: own = {} }) =>
      Object.entries(own).filter(([name]) => /PASSWORD|TOKEN|SECRET$|DATABASE_URL/.test(name)),
    );
    // The sandbox makes its key from a seed, and listens for the daemon alone.
    const isOfSandbox = (name: string) => name === 'WALLET_API_SECRET' && 'sandbox' in services;
    const open = given.filter(
      ([name, value]) => !isOfSandbox(name) && !secrets.some((one) => value.includes(one)),
    );
    expect(open).toEqual([]);
    expect(compose.services['sandbox']?.command ?? []).not.toContain('--host');
  });

  it('runs the images that the tests run', () => {
    const { postgres, redis } = services;
    const tagOf = ({ image }: Service) => image.split('@')[0];
    expect({
      postgres: postgres && tagOf(postgres),
      redis: redis ? tagOf(redis) : usualImages.redis,
    }).toEqual(usualImages);
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
    // Compose copies a content into the container, which a read-only one refuses; a file it mounts.
    expect(configs).toBeUndefined();
  });

  it('asks every container for its health, and gives the daemon longer than it takes to stop', () => {
    for (const [name, { healthcheck }] of Object.entries(services))
      expect([name, healthcheck?.test[0]]).toEqual([name, 'CMD']);
    expect(serviceOf(compose, 'wallet-ledger').stop_grace_period).toBe('35s');
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
    const mounted = sources.filter((source) => source.startsWith('.'));
    expect(mounted).not.toEqual([]);
    expect(mounted.filter((file) => !existsSync(resolve(file)))).toEqual([]);
    const named = sources.filter((source) => !source.startsWith('.'));
    expect(new Set(named)).toEqual(new Set(Object.keys(volumes)));
  });

  it('starts Prometheus and Grafana only where they are asked for', () => {
    const optional = Object.keys(services).filter((name) => services[name]?.profiles);
    expect(optional).toEqual(['prometheus', 'grafana']);
  });

  it('publishes the status pages, and nothing off loopback', () => {
    const published = Object.values(services).flatMap(({ ports }) => ports ?? []);
    const hosts = published.map((port) => port.split(':')[0] ?? '');
    expect(hosts).not.toEqual([]);
    expect(hosts.filter((host) => !isLoopbackHost(host))).toEqual([]);
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
    const { environment, network_mode } = serviceOf(compose, 'wallet-ledger');
    const port = environment?.['HTTP_PORT'] ?? settingsTable.HTTP_PORT.default;
    expect(scrape?.static_configs[0]?.targets).toEqual([`wallet-ledger:${port}`]);
    // A daemon without a network of its own is found under the name of the one whose network it shares.
    const owner = serviceOf(compose, network_mode?.replace('service:', '') ?? 'wallet-ledger');
    const names = network_mode ? owner.networks?.default.aliases : ['wallet-ledger'];
    expect(names).toContain('wallet-ledger');
    expect(owner.ports).toEqual([expect.stringMatching(`:${port}$`)]);
    const prometheus = serviceOf(compose, 'prometheus');
    const written = `printf %s "$$HTTP_TOKEN" >/etc/prometheus/${scrape?.authorization.credentials_file};`;
    expect(prometheus.entrypoint?.join(' ')).toContain(written);
    expect(prometheus.tmpfs).toEqual([expect.stringMatching(/^\/etc\/prometheus:/)]);
    expect(prometheus.environment?.['HTTP_TOKEN']).toBe(environment?.['HTTP_TOKEN']);
    for (const file of config.rule_files) {
      const mount = `./ops/${file}:/etc/prometheus/${file}:ro`;
      expect(serviceOf(compose, 'prometheus').volumes).toContain(mount);
    }
  });
});

describe('docker-compose.yml', () => {
  const compose = readCompose('docker-compose.yml');
  const { services } = compose;
  const service = (name: string) => serviceOf(compose, name);
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
});

describe('docker-compose.service.yml', () => {
  const { services, secrets: declared, text } = readCompose('docker-compose.service.yml');
  const { environment = {}, env_file = [], secrets: used } = services['wallet-ledger'] ?? {};

  it('takes the settings of its head, and the secret from a file', () => {
    const example = parseEnv(readFileSync('.env.example', 'utf8'));
    const filled = { ...example, WALLET_BASE_URL: 'https://wallet.example.com', ...environment };
    const readFile = (path: string) => {
      expect(path).toBe(`/run/secrets/${used?.[0]}`);
      return '11'.repeat(32);
    };
    const { service, http, warnings } = parseSettings(filled, readFile, { needs: ['service'] });
    expect([service.apiSecret, http?.host, warnings]).toEqual(['11'.repeat(32), '0.0.0.0', []]);
    const [file = ''] = env_file;
    const secretFile = declared?.['api-secret']?.file;
    expect(text).toContain(`install -m 0600 .env.example ${file} `);
    expect(text).toMatch(new RegExp(`install -m 0400 -o 1000 /dev/stdin ${secretFile} `));
    const ignored = readFileSync('.gitignore', 'utf8').split('\n');
    for (const each of [file, secretFile]) expect(ignored).toContain(each);
  });

  it('runs no sandbox', () => {
    expect(Object.keys(services)).toEqual(['postgres', 'wallet-ledger', 'prometheus', 'grafana']);
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

  it('has the program on the PATH', () => {
    const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      bin: Record<string, string>;
    };
    const path = bin['wallet-ledger'] ?? '';
    expect(dockerfile).toContain(
      `RUN chmod 755 ${path} && ln -s /app/${path} /usr/local/bin/wallet-ledger\n`,
    );
    const folder = temporaryFolder();
    const link = join(folder, 'wallet-ledger');
    symlinkSync(resolve(path), link);
    chmodSync(path, 0o755);
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
    expect(execFileSync(link, ['--version'], { env, encoding: 'utf8' })).toMatch(/^\d/);
  });

  it('sets nothing that is not a setting', () => {
    const names = [...dockerfile.matchAll(/\b([A-Z][A-Z_]+)=/g)].map(([, name = '']) => name);
    const others = names.filter((name) => !Object.hasOwn(settingsTable, name));
    expect(others).toEqual(['NODE_IMAGE', 'NODE_ENV', 'NODE_OPTIONS']);
  });

  it('asks for its health at paths that exist and are open to all', async () => {
    const http = await openHttp({ token: 'secret' });
    const composes = files.map((file) => readFileSync(file, 'utf8'));
    const checks = [dockerfile, ...composes].flatMap((one) => [
      ...one.matchAll(/(\/(healthz|readyz))`?'?\)/g),
    ]);
    expect(new Set(checks.map(([, path]) => path))).toEqual(new Set(['/healthz', '/readyz']));
    for (const [, path] of checks) expect((await fetch(http.url + path)).status).toBe(200);
    await http.close();
  });
});
