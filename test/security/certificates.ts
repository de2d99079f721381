import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programOnPath } from '../support/program-on-path.ts';

export const openssl = programOnPath(['openssl']);

/** A key and its certificate, in PEM. */
export type Identity = { key: string; cert: string };

export type CertificateAuthority = {
  /** Path of its own certificate, as NODE_EXTRA_CA_CERTS takes it. */
  path: string;
  /** A certificate for the host names and addresses, valid for a day, or only until yesterday. */
  issue(names: string[], options?: { isExpired?: boolean }): Identity;
  remove(): void;
};

const authorityConfig = `
[ca]
default_ca = here
[here]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
`;

/** A certificate authority of the test's own; needs the program openssl. */
export function createAuthority(): CertificateAuthority {
  const folder = mkdtempSync(join(tmpdir(), 'wallet-ledger-ca-'));
  const run = (...args: string[]) =>
    execFileSync(openssl ?? 'openssl', args, { cwd: folder, stdio: 'pipe' });
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
  writeFileSync(join(folder, 'config'), authorityConfig);
  writeFileSync(join(folder, 'index.txt'), '');
  writeFileSync(join(folder, 'serial'), '1000');
  const config = ['-config', 'config'];
  const own = ['-keyout', 'ca.key', '-out', 'ca.pem'];
  const isAuthority = ['-addext', 'basicConstraints=critical,CA:TRUE'];
  run('req', '-x509', ...newKey, ...config, '-subj', '/CN=test authority', ...isAuthority, ...own);
  let issued = 0;
  return {
    path: join(folder, 'ca.pem'),
    issue(names, { isExpired = false } = {}) {
      const name = `certificate-${++issued}`;
      const [key, request, cert] = ['key', 'csr', 'pem'].map((end) => `${name}.${end}`) as [
        string,
        string,
        string,
      ];
      const alternatives = names.map((one) => `${/^[\d.]+$/.test(one) ? 'IP' : 'DNS'}:${one}`);
      writeFileSync(join(folder, 'extensions'), `subjectAltName=${alternatives.join()}\n`);
      run('req', ...newKey, ...config, '-subj', `/CN=${name}`, '-keyout', key, '-out', request);
      const from = ['-startdate', openSslTime(-30), '-enddate', openSslTime(isExpired ? -1 : 1)];
      const signer = ['-keyfile', 'ca.key', '-cert', 'ca.pem', '-extfile', 'extensions'];
      run('ca', '-batch', ...config, '-notext', ...signer, ...from, '-in', request, '-out', cert);
      return { key: read(key), cert: read(cert) };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** YYMMDDHHMMSSZ. */
function openSslTime(offsetDays: number): string {
  const text = new Date(Date.now() + offsetDays * 86_400_000).toISOString();
  return `${text.slice(2, 19).replaceAll(/[-T:]/g, '')}Z`;
}
