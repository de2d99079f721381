import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { settingsTable } from '../../src/config/settings-table.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const text = readFileSync('ops/wallet-ledger.service', 'utf8');

/** Returns the values of a name in the unit file, in their order. */
function valuesOf(name: string): string[] {
  return [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
}

test('the unit starts the bin, as an ordinary user', () => {
  const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    bin: Record<string, string>;
  };
  const [start = ''] = valuesOf('ExecStart');
  expect(start).toBe(`/usr/bin/node /opt/wallet-ledger/${bin['wallet-ledger']} start`);
  expect(valuesOf('User')).toEqual(['wallet-ledger']);
});

test('the unit gives the daemon longer than it takes to stop, and starts it again but for bad settings', () => {
  expect(valuesOf('TimeoutStopSec')).toEqual(['35']);
  expect(valuesOf('Restart')).toEqual(['on-failure']);
  expect(valuesOf('RestartPreventExitStatus')).toEqual(['2']);
});

test('the unit sets nothing that is not a setting', () => {
  const names = valuesOf('Environment').flatMap((line) =>
    line.split(' ').map((pair) => (pair.split('=')[0] ?? '').replace(/_FILE$/, '')),
  );
  expect(names.filter((name) => !Object.hasOwn(settingsTable, name))).toEqual([
    'NODE_ENV',
    'NODE_OPTIONS',
  ]);
});

test('[S14] a crash of the daemon writes no memory with keys to the disk', () => {
  expect(valuesOf('LimitCORE')).toEqual(['0']);
});

test('[S14] the unit locks the daemon in', () => {
  expect(valuesOf('CapabilityBoundingSet')).toEqual(['']);
  for (const name of ['NoNewPrivileges', 'PrivateTmp', 'PrivateDevices', 'ProtectHome'])
    expect([name, ...valuesOf(name)]).toEqual([name, 'yes']);
  expect(valuesOf('ProtectSystem')).toEqual(['strict']);
});

test('systemd takes the unit without a word', (context) => {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0)
    return context.skip('no systemd-analyze at hand');
  const directory = temporaryFolder();
  const unit = join(directory, 'wallet-ledger.service');
  // Node lies elsewhere on the machines that test.
  writeFileSync(unit, text.replace('/usr/bin/node', process.execPath));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], {
    encoding: 'utf8',
  });
  // Other units of the machine may have faults of their own.
  const said = stderr.split('\n').filter((line) => line.includes('wallet-ledger'));
  expect({ status, said }).toEqual({ status: 0, said: [] });
});
