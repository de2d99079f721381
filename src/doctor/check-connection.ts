import { lookup } from 'node:dns/promises';
import { toError } from '../kernel/errors.ts';
import { isLoopbackHost } from '../kernel/loopback.ts';
import { badFinding, type Finding, okFinding, warningFinding } from './finding.ts';

/** Matches TLS failures of certificates, whose codes come from several families of OpenSSL. */
const certificateCode = /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME|ISSUER|CRL/;
const protocolCode = /^(ERR_SSL|EPROTO)/;

/** Checks that the service's host name resolves and that the host answers over a trusted certificate. */
export async function checkConnection(baseUrl: string, timeoutMs: number): Promise<Finding[]> {
  const { hostname } = new URL(baseUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  try {
    const addresses = await lookup(host, { all: true });
    const texts = [...new Set(addresses.map(({ address }) => address))];
    return [okFinding('dns', `${host} is ${texts.join(', ')}`), await request(baseUrl, timeoutMs)];
  } catch (thrown) {
    const { code = 'no code' } = toError(thrown) as NodeJS.ErrnoException;
    const cure = 'check the host in WALLET_BASE_URL and the name servers of this machine';
    return [badFinding('dns', `${host} has no address (${code})`, cure)];
  }
}

/** Sends one request without credentials. Any HTTP answer counts as success. */
async function request(baseUrl: string, timeoutMs: number): Promise<Finding> {
  const { protocol, host, hostname } = new URL(baseUrl);
  try {
    const response = await fetch(baseUrl, {
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.body?.cancel();
    const answers = `${host} answers over`;
    const status = `(HTTP ${response.status})`;
    if (protocol === 'https:')
      return okFinding('connection', `${answers} TLS with a valid certificate ${status}`);
    if (isLoopbackHost(hostname))
      return okFinding('connection', `${answers} plain HTTP on loopback ${status}`);
    const cure =
      'use https if the service has it; otherwise everyone in between can read the history and forge answers';
    return warningFinding('connection', `${answers} plain HTTP, not encrypted ${status}`, cure);
  } catch (thrown) {
    return explain(host, deepest(thrown));
  }
}

function explain(host: string, { code = '', message }: NodeJS.ErrnoException): Finding {
  const name = 'connection';
  const said = `${code} ${message}`.trim();
  if (certificateCode.test(code)) {
    const cure =
      'check the host name and the clock; for a private authority, set NODE_EXTRA_CA_CERTS to the path of its certificate';
    return badFinding(name, `${host} has a certificate that is not trusted: ${said}`, cure);
  }
  if (protocolCode.test(code)) {
    const cure = 'check scheme and port in WALLET_BASE_URL, and any proxy in between';
    return badFinding(name, `${host} does not speak TLS as expected: ${tlsWords(said)}`, cure);
  }
  const cure = 'check WALLET_BASE_URL, firewall and proxy, and that the service is up';
  return badFinding(name, `${host} does not answer: ${said}`, cure);
}

/** Returns only the reason from an error of OpenSSL, which also names OpenSSL's functions and files. */
function tlsWords(said: string): string {
  const reason = /:SSL routines:[^:]*:([^:]+):/.exec(said)?.[1];
  // OpenSSL reads the first bytes of a plain-text answer as a version of TLS.
  if (reason === 'wrong version number') return 'its answer is not encrypted, as if it were http';
  return reason ?? said;
}

/** Returns the innermost cause; the error of fetch itself says only "fetch failed". */
function deepest(thrown: unknown): NodeJS.ErrnoException {
  let error = toError(thrown);
  for (let depth = 0; depth < 4 && error.cause !== undefined; depth += 1) {
    error = toError(error.cause);
  }
  if (error instanceof AggregateError && error.errors.length > 0) return toError(error.errors[0]);
  return error;
}
