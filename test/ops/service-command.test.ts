import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';

const unit = readFileSync('ops/wallet-ledger.service', 'utf8');
const wrapper = resolve('ops/wallet-ledger');

/** Prints what a command gets: its words, and those variables of its environment that are of the settings. */
const program = `#!/bin/sh
for word; do printf 'word %s\\n' "$word"; done
env | grep -E '^(WALLET_|LOG_|EU__|NODE_ENV)' | sort
[ "$1" != fail ] || exit 3
[ "$1" != crash ] || exit 1
[ "$1" != read ] || cat
if [ "$1" = follow ]; then
  trap 'echo ended by TERM; exit 7' TERM
  echo following
  while :; do sleep 0.05; done
fi
`;

/**
 * Plays systemd: reads the file of settings, and puts the credentials into a directory. The command is no child of the
 * script's session, and starts with the usual signals.
 */
const systemdRun = `#!/bin/sh
[ ! -f "$FOLDER/refusal" ] || exit 243
while :; do
  case $1 in
    --property=EnvironmentFile=*) file=\${1#*=*=} ;;
    --property=Environment=*) environment="$environment \${1#*=*=}" ;;
    --*) ;;
    *) break ;;
  esac
  echo "$1" >>"$FOLDER/options"
  shift
done
set -a
for word in $environment; do eval "$word"; done
. "$FOLDER/settings"
export CREDENTIALS_DIRECTORY=$FOLDER/credentials
exec setsid --fork --wait env --default-signal sh -c 'echo $$ >"$FOLDER/pid"; exec "$@"' sh "$@"
`;

/** Plays systemctl: shows the unit, and passes a signal on. */
const systemctl = `#!/bin/sh
case $1 in
  cat) [ "$3" = wallet-ledger.service ] && cat "$FOLDER/unit" ;;
  kill) sleep 0.1; kill "-\${2#--signal=}" "$(cat "$FOLDER/pid")" ;;
esac
`;

type Options = { user?: string; drop?: string; refusal?: string; env?: Record<string, string> };

/** Makes a folder with the script's systemd, which is played, for the user of the number. */
function prepare({ user = '0', drop = '', refusal = '', env = {} }: Options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'wallet ledger '));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  };
  mkdirSync(join(folder, 'bin'));
  file('program', program);
  file('settings', 'WALLET_BASE_URL=https://wallet.example.com\n');
  file('bin/id', `#!/bin/sh\necho ${user}\n`);
  file('bin/systemd-run', systemdRun);
  file('bin/systemctl', systemctl);
  // Journal of a unit that failed, before or after its start.
  file('journal', `${refusal}unit: Failed with result 'exit-code'.\n`);
  file('bin/journalctl', '#!/bin/sh\n[ "$1" = --sync ] || cat "$FOLDER/journal"\n');
  if (refusal) file('refusal', '');
  // The path of the program has no blank in a unit.
  const start = unit.replace(/^ExecStart=.* start$/m, 'ExecStart=/bin/sh program start');
  file('unit', `# /etc/systemd/system/wallet-ledger.service\n${start}\n${drop}`);
  const path = `${join(folder, 'bin')}:/usr/bin:/bin`;
  return { cwd: folder, env: { PATH: path, FOLDER: folder, ...env } };
}

function run(args: string[], options: Options = {}) {
  const place = prepare(options);
  const input = 'given\n';
  const { status, stdout, stderr } = spawnSync(wrapper, args, {
    ...place,
    encoding: 'utf8',
    input,
  });
  const folder = place.cwd;
  const given = spawnSync('cat', [join(folder, 'options')], { encoding: 'utf8' });
  return { status, lines: stdout.split('\n'), stderr, options: given.stdout.split('\n'), folder };
}

test('a command runs as the user of the unit, with its settings and its secret', () => {
  const { status, lines, options, folder } = run([
    'pool',
    'take',
    '60',
    '--reference',
    "Ann's $5  *",
  ]);
  expect(status).toBe(0);
  expect(lines.slice(0, 5)).toEqual([
    'word pool',
    'word take',
    'word 60',
    'word --reference',
    "word Ann's $5  *",
  ]);
  expect(lines).toContain('WALLET_BASE_URL=https://wallet.example.com');
  expect(lines).toContain(`WALLET_API_SECRET_FILE=${join(folder, 'credentials', 'api-secret')}`);
  expect(lines.filter((line) => line.startsWith('LOG_'))).toEqual([]);
  for (const name of [
    'User',
    'WorkingDirectory',
    'EnvironmentFile',
    'LoadCredential',
    'ProtectSystem',
  ]) {
    const line = unit.match(new RegExp(`^${name}=.*$`, 'm'))?.[0];
    expect(options).toContain(`--property=${line}`);
  }
  expect(options).toContain('--property=CapabilityBoundingSet=');
  expect(
    options.filter((each) =>
      /=(Exec|Restart=|RestartSec|Type|Timeout|WantedBy|After|PrivateTmp)/.test(each),
    ),
  ).toEqual([]);
});

test('its exit code, the level of the log and drop-ins of the unit pass through', () => {
  const drop =
    '# /etc/systemd/system/wallet-ledger.service.d/us.conf\n[Service]\nLoadCredential=eu:/etc/eu\nEnvironment=EU__WALLET_API_SECRET_FILE=%d/eu\n';
  const { status, lines, options, folder } = run(['fail'], { drop, env: { LOG_LEVEL: 'debug' } });
  expect(status).toBe(3);
  expect(lines).toContain('LOG_LEVEL=debug');
  expect(lines).toContain(`EU__WALLET_API_SECRET_FILE=${join(folder, 'credentials', 'eu')}`);
  expect(options).toContain('--property=LoadCredential=eu:/etc/eu');
});

test('a command reads what the script is given', () => {
  expect(run(['read']).lines).toContain('given');
});

test('only root gets settings and secret; help needs neither', () => {
  const refused = run(['status'], { user: '1000' });
  expect([refused.status, refused.lines, refused.options]).toEqual([2, [''], ['']]);
  expect(refused.stderr).toMatch(/^wallet-ledger: only root .*sudo.*\n$/);
  const help = run(['--help'], { user: '1000' });
  expect([help.status, help.lines[0], help.options]).toEqual([0, 'word --help', ['']]);
  expect(run([], { user: '1000' }).status).toBe(0);
});

test('another unit is refused in words', () => {
  const { status, stderr } = run(['status'], { env: { WALLET_LEDGER_UNIT: 'other.service' } });
  expect([status, stderr]).toEqual([2, expect.stringContaining('WALLET_LEDGER_UNIT')]);
});

test('a command that systemd cannot start says why', () => {
  const refusal =
    'unit: Failed to set up credentials: Protocol error\nFailed to start unit - a command.\n';
  const { status, stderr } = run(['status'], { refusal });
  expect(stderr).toBe(
    'wallet-ledger: systemd could not start the command: Failed to set up credentials: Protocol error; check that what `systemctl cat wallet-ledger.service` names is there: settings, secrets, user, program\n',
  );
  expect(status).toBe(2);
  expect(run(['crash'])).toMatchObject({ status: 1, stderr: '' });
});

const signals: [string, (script: number) => void][] = [
  ['to the script alone', (script) => process.kill(script, 'SIGTERM')],
  ['to the group of the script', (script) => process.kill(-script, 'SIGTERM')],
  [
    'sent twice',
    (script) => {
      process.kill(script, 'SIGTERM');
      setTimeout(() => process.kill(script, 'SIGTERM'), 20);
    },
  ],
];

test.each(signals)(
  'a signal %s ends the command, whose exit code passes through',
  async (_, send) => {
    const place = prepare();
    const running = spawn(wrapper, ['follow'], {
      ...place,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(running, 'close');
    const lines = createInterface({ input: running.stdout })[Symbol.asyncIterator]();
    while ((await lines.next()).value !== 'following');
    send(running.pid ?? 0);
    expect((await lines.next()).value).toBe('ended by TERM');
    expect(await ended).toEqual([7, null]);
  },
);

test('a script without an input gives the command an empty one', () => {
  const words = ['-c', '"$0" read <&-', wrapper];
  const { status, stderr } = spawnSync('/bin/sh', words, { ...prepare(), encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});
