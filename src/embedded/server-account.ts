import { constants } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LedgerError } from '../kernel/errors.ts';
import type { ServerBinaries } from './server-binaries.ts';
import type { Owner, ServerFiles } from './server-files.ts';

/** How to run PostgreSQL's programs: as this process's own user, or as another one. */
export type ServerAccount = {
  /** Null: this process's own user. */
  owner: Owner | null;
  /** The command line and credentials that run a program. */
  command(program: string, args: readonly string[]): Command;
};

type Command = { program: string; args: readonly string[]; credentials: Partial<Owner> };

const nobody: Owner = { uid: 65534, gid: 65534 };
const setprivPath = '/usr/bin/setpriv';
/** Linux capabilities that pass directories closed to a user, the narrower one first. */
const passingCapabilities = [
  { name: 'dac_read_search', bit: 2n },
  { name: 'dac_override', bit: 1n },
];

const ownAccount: ServerAccount = {
  owner: null,
  command: (program, args) => ({ program, args, credentials: {} }),
};

/**
 * PostgreSQL refuses to run as root. So root runs it as the owner of the data, or else as the user `postgres`, or
 * else as `nobody`; where that user cannot pass the directories above, with the one capability that lets it.
 */
export async function chooseServerAccount(
  files: ServerFiles,
  binaries: ServerBinaries,
): Promise<ServerAccount> {
  if (process.getuid?.() !== 0) return ownAccount;
  const owner = (await dataOwner(files.data)) ?? (await postgresUser()) ?? nobody;
  const closed =
    (await closedDirectory(files.home, owner)) ??
    (await closedDirectory(dirname(binaries.postgres), owner));
  if (closed === null) {
    return { owner, command: (program, args) => ({ program, args, credentials: owner }) };
  }
  const setprivArgs = await passThrough(owner, closed);
  return {
    owner,
    command: (program, args) => ({
      program: setprivPath,
      args: [...setprivArgs, program, ...args],
      credentials: {},
    }),
  };
}

async function dataOwner(directory: string): Promise<Owner | null> {
  const found = await stat(directory).catch(() => null);
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : null;
}

async function postgresUser(): Promise<Owner | null> {
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const match = /^_?postgres:[^:]*:([1-9]\d*):(\d+):/m.exec(users);
  return match ? { uid: Number(match[1]), gid: Number(match[2]) } : null;
}

/** The first directory, from the given one up to the root, that the user must not pass; else null. */
async function closedDirectory(directory: string, owner: Owner): Promise<string | null> {
  const { uid, gid, mode } = await stat(directory);
  const bit = uid === owner.uid ? 0o100 : gid === owner.gid ? 0o010 : 0o001;
  const parent = dirname(directory);
  if ((mode & bit) === 0) return directory;
  return parent === directory ? null : await closedDirectory(parent, owner);
}

async function passThrough({ uid, gid }: Owner, closed: string): Promise<string[]> {
  const capability = await ownPassingCapability();
  const isInstalled = await access(setprivPath, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!capability || !isInstalled) {
    throw new LedgerError(
      'database-unreachable',
      `the embedded PostgreSQL runs as user ${uid}, because it refuses root, and that user must not enter ${closed}`,
      {
        cure: 'run as an ordinary user, keep program and LEDGER_DATA_DIR where every user may pass, or set DATABASE_URL',
      },
    );
  }
  const set = `-all,+${capability}`;
  return [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    // Without it access(2), which initdb asks, leaves capabilities out of account.
    '--securebits=+no_setuid_fixup',
    `--inh-caps=${set}`,
    `--ambient-caps=${set}`,
    `--bounding-set=${set}`,
  ];
}

async function ownPassingCapability(): Promise<string | undefined> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`);
  return passingCapabilities.find(({ bit }) => (effective >> bit) & 1n)?.name;
}
