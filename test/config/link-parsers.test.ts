import { Client } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { parseSettings } from '../../src/config/parse-settings.ts';

function parse(env: Record<string, string>) {
  return parseSettings(env, () => '');
}

const database = (query: string, host = 'db.example.com') =>
  `postgres://me:secret@${host}:5432/ledger${query}`;

describe('DATABASE_URL', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]', '%2Fvar%2Frun%2Fpostgresql'])(
    'on %s needs no encryption',
    (host) => {
      const url = database('', host);
      expect(parse({ DATABASE_URL: url }).database.url).toBe(url);
    },
  );

  test.each([
    '?sslmode=verify-full',
    '?sslmode=verify-full&sslrootcert=/etc/ca.pem',
    '?uselibpqcompat=true&sslmode=verify-ca&sslrootcert=/etc/ca.pem',
    '?ssl=true',
    '?uselibpqcompat=true&sslmode=require&sslrootcert=/etc/ca.pem',
    '?sslmode=disable',
    '?host=/var/run/postgresql',
    '?sslmode=verify-full&require_auth=scram-sha-256,password',
  ])('to another machine is accepted with %s', (query) => {
    expect(parse({ DATABASE_URL: database(query) }).database.url).toBe(database(query));
  });

  test.each(['prefer', 'require', 'verify-ca'])(
    'sslmode=%s is what it means to the client, verify-full, so that nothing is printed about it',
    (mode) => {
      const warnings: unknown[] = [];
      const note = (warning: unknown) => warnings.push(warning);
      for (const host of ['db.example.com', '127.0.0.1']) {
        const query = (each: string) => `?sslmode=${each}&channel_binding=require`;
        const { url } = parse({ DATABASE_URL: database(query(mode), host) }).database;
        expect(url).toBe(database(query('verify-full'), host));
        const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(note);
        new Client({ connectionString: url ?? '' });
        emitted.mockRestore();
      }
      expect(warnings).toEqual([]);
    },
  );

  test.each([
    '',
    '?sslmode=no-verify',
    '?sslmode=allow',
    '?ssl=no-verify',
    '?ssl=0',
    '?uselibpqcompat=true&sslmode=require',
    '?uselibpqcompat=true&sslmode=prefer',
    '?sslmode=verify-full&sslmode=no-verify',
  ])('to another machine is refused with "%s", and the error says what to write', (query) => {
    let error: unknown;
    try {
      parse({ DATABASE_URL: database(query) });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: 'settings', exitCode: 2 });
    const { message } = error as Error;
    for (const word of ['DATABASE_URL', 'db.example.com', 'sslmode=verify-full', 'sslmode=disable'])
      expect(message).toContain(word);
    expect(message).not.toContain('secret');
  });

  test.each(['pa#ss', 'pa/ss', 'pa?ss', 'pa%ss', '12/3', '12#3'])(
    'with the password %s is refused, and the error says how to write it, without showing it',
    (password) => {
      const read = () => parse({ DATABASE_URL: `postgres://me:${password}@127.0.0.1/ledger` });
      expect(read).toThrow(/DATABASE_URL.*percent-encoded/);
      expect(read).not.toThrow(password);
    },
  );

  test('the last host of the address counts, as for the client', () => {
    expect(() => parse({ DATABASE_URL: database('?host=db.example.com', '127.0.0.1') })).toThrow(
      'sslmode=verify-full',
    );
  });

  test('a method of login that is unknown is no silent permission', () => {
    expect(() =>
      parse({ DATABASE_URL: database('?sslmode=verify-full&require_auth=none') }),
    ).toThrow('require_auth');
  });
});

describe('REDIS_URL', () => {
  test.each(['redis://127.0.0.1:6379', 'redis://:pw@localhost', 'rediss://cache.example.com'])(
    '%s is accepted',
    (url) => {
      expect(parse({ REDIS_URL: url }).queue.redisUrl).toBe(url);
    },
  );

  test('another machine is spoken to over TLS, or with the word that gives it up', () => {
    expect(() => parse({ REDIS_URL: 'redis://cache.example.com' })).toThrow(
      /rediss:.*cache\.example\.com.*unencrypted=yes/,
    );
    expect(
      parse({ REDIS_URL: 'redis://cache.example.com:6379?unencrypted=yes' }).queue.redisUrl,
    ).toBe('redis://cache.example.com:6379');
  });
});
