import pg from 'pg';
import { LedgerError } from '../../kernel/errors.ts';
import { isLoopbackHost } from '../../kernel/loopback.ts';

/** Allowed ways to prove a password to a server, named as in libpq's parameters require_auth and channel_binding. */
type LoginPolicy = { methods: ReadonlySet<string>; isBound: boolean };

type LoginHandler = (this: LoginClient, message: { mechanisms?: string[] }) => void;

/** Members of pg's client that its types leave out. */
type LoginClient = {
  host: string;
  port: number;
  enableChannelBinding: boolean;
  connection: { stream: object; emit(name: 'error', error: Error): void };
};

const policies = new Map<string, LoginPolicy>();

/**
 * Restricts the password login of every client in this process, the queue's included, to SCRAM if the server is remote.
 * Without it, pg sends the password in any form that a server requests. `require_auth` in the connection string allows
 * other methods. `channel_binding=require` binds the proof to one TLS connection.
 */
export function requireStrongLogin(connectionString: string): void {
  const { host, port } = new pg.Client({ connectionString });
  if (isLoopbackHost(host) || host.startsWith('/')) return;
  const { searchParams } = new URL(connectionString);
  const last = (name: string) => searchParams.getAll(name).at(-1);
  policies.set(`${host}:${port}`, {
    methods: new Set((last('require_auth') ?? 'scram-sha-256').split(',')),
    isBound: last('channel_binding') === 'require',
  });
}

const handlers = pg.Client.prototype as unknown as Record<string, LoginHandler>;
guard('_handleAuthCleartextPassword', 'password');
guard('_handleAuthMD5Password', 'md5');
guard('_handleAuthSASL', 'scram-sha-256');

function guard(name: string, method: string): void {
  const original = handlers[name];
  if (!original) throw new Error(`pg no longer has ${name}: requireStrongLogin must be changed`);
  handlers[name] = function (message) {
    const problem = problemOf(this, method, message.mechanisms ?? []);
    if (problem === null) return original.call(this, message);
    this.connection.emit('error', refused(problem));
  };
}

function problemOf(client: LoginClient, method: string, mechanisms: string[]): string | null {
  const policy = policies.get(`${client.host}:${client.port}`);
  if (!policy) return null;
  if (!policy.methods.has(method)) {
    return `by the method ${method}`;
  }
  if (!policy.isBound) return null;
  client.enableChannelBinding = true;
  const canBind =
    'getPeerCertificate' in client.connection.stream && mechanisms.includes('SCRAM-SHA-256-PLUS');
  return canBind ? null : 'without the channel binding that DATABASE_URL requires';
}

function refused(problem: string): LedgerError {
  return new LedgerError(
    'settings',
    `the database asks for the password ${problem}; the password was not sent`,
    {
      cure: 'let the role log in by scram-sha-256, or allow the method in DATABASE_URL: require_auth=scram-sha-256,md5 or password',
    },
  );
}
