import { migrationNamed } from './migration-named.ts';
import type { PlantedBug } from './planted-bug.ts';

const listProblems = 'test/http/list-problems.test.ts';
const script = 'test/http/status-script.test.ts';
const whole = 'test/whole/status.test.ts';

/** Mistakes in saying how things stand. */
export const statusBugs: PlantedBug[] = [
  {
    id: 'status-without-database-problems',
    promise: 'Honest',
    wrong: 'only the queue counts for the verdict: a daemon that is gone leaves all well',
    file: 'src/http/list-problems.ts',
    find: 'const all = [...report.problems, ...queueProblems(report)];',
    put: 'const all = [...queueProblems(report)];',
    caughtBy: { file: listProblems, name: 'critical problems come first, the queue among them' },
  },
  {
    id: 'silence-is-no-problem',
    promise: 'Honest',
    wrong: 'a daemon that has gone is no problem: the last word of its lists stands',
    file: migrationNamed('problems'),
    find: 'FROM life f WHERE f.is_silent\n',
    put: 'FROM life f WHERE f.is_silent AND f.last_sign_at IS NULL\n',
    caughtBy: {
      file: 'test/ledger/problems.test.ts',
      name: 'is one problem, and not one of each list',
    },
  },
  {
    id: 'status-warning-as-critical',
    promise: 'Honest',
    wrong: 'a warning turns the verdict critical',
    file: 'src/http/list-problems.ts',
    find: "if (problems.some(isCritical)) return 'critical';",
    put: "if (problems.length > 0) return 'critical';",
    caughtBy: {
      file: listProblems,
      name: 'a report without problems is ok, warnings ask for attention, one critical problem is critical',
    },
  },
  {
    id: 'page-believes-silence',
    promise: 'Honest',
    wrong: 'a page that hears nothing goes on showing the last verdict',
    file: 'src/http/status-script.ts',
    find: `    clearTimeout(watchdog);
    watchdog = setTimeout(cutOff, silenceMs);
    banner`,
    put: `    clearTimeout(watchdog);
    banner`,
    caughtBy: {
      file: script,
      name: 'a page that hears nothing for 10 s says since when, at its top and in its title',
    },
  },
  {
    id: 'page-cut-off-unsaid',
    promise: 'Honest',
    wrong: 'a page that is cut off says so in its title alone, not at its top',
    file: 'src/http/status-script.ts',
    find: 'if (banner.textContent !== words) banner.textContent = words;',
    put: 'if (banner.textContent === words) return;',
    caughtBy: {
      file: script,
      name: 'a page that hears nothing for 10 s says since when, at its top and in its title',
    },
  },
  {
    id: 'page-stays-cut-off',
    promise: 'Honest',
    wrong: 'the banner stays although events come again',
    file: 'src/http/status-script.ts',
    find: "banner.textContent = '';",
    put: '',
    caughtBy: {
      file: script,
      name: 'events every 5 s keep it live, and the first one after a silence takes the banner away',
    },
  },
  {
    id: 'page-claims-while-paused',
    promise: 'Honest',
    wrong: 'the title of a page that nobody looks at keeps its last verdict',
    file: 'src/http/status-script.ts',
    find: "document.title = 'Paused · wallet-ledger';",
    put: '',
    caughtBy: {
      file: script,
      name: 'a page that nobody looks at asks for nothing and claims nothing in its title',
    },
  },
  {
    id: 'events-only-of-news',
    promise: 'Honest',
    wrong: 'a tick without news sends no event, and a live page takes itself for cut off',
    file: 'src/http/event-stream.ts',
    find: 'for (const [name, part] of changed) told.set(name, part);',
    put: `for (const [name, part] of changed) told.set(name, part);
    if (changed.length === 0) return void (await stream.write(': nothing new\\n\\n'));`,
    caughtBy: {
      file: 'test/http/live-status.test.ts',
      name: 'an event comes with each tick although nothing changes, so that silence means a lost connection',
    },
  },
  {
    id: 'readiness-quotes-the-service',
    promise: 'Secrets',
    wrong: 'the page that is open to all quotes the words of a problem',
    file: 'src/http/http-app.ts',
    find: '(all) => all.map(({ name, severity }) => ({ name, severity })),',
    put: '(all) => all,',
    caughtBy: {
      file: 'test/http/start-http.test.ts',
      name: 'readiness names the problems, without their words, and does not depend on them',
    },
  },
  {
    id: 'status-check-always-well',
    promise: 'Honest',
    wrong: 'status --check ends with 0 whatever stands',
    file: 'src/cli/commands/status.ts',
    find: 'listProblems(report).length > 0 ? problemExitCode : 0',
    put: 'listProblems(report).length < 0 ? problemExitCode : 0',
    caughtBy: {
      file: whole,
      name: 'status writes nothing, and --check ends with 3 while a problem stands',
    },
  },
  {
    id: 'status-makes-a-schema',
    promise: 'Honest',
    wrong: 'a look at a database without a ledger goes on as if there were one',
    file: 'src/cli/open-existing-ledger.ts',
    find: 'if (pending === 0) return;',
    put: 'if (pending >= 0) return;',
    caughtBy: {
      file: whole,
      name: 'status makes no schema, neither an older nor a newer one is touched, and each is named',
    },
  },
  {
    id: 'unlisted-counts-as-final',
    promise: 'Honest',
    wrong: 'a row that vanished from the list before it was final counts as final',
    file: 'src/ledger/read-status.ts',
    find: 'from ledger.transactions where not is_final) as "notFinal"',
    put: 'from ledger.transactions where not is_final and is_listed) as "notFinal"',
    caughtBy: {
      file: 'test/ledger/read-status.test.ts',
      name: 'counts, streams, pools, balances, runs and errors are those of the tables',
    },
  },
  {
    id: 'guess-at-full-speed',
    promise: 'Secrets',
    wrong: 'a wrong token is answered at once, however many came before',
    file: 'src/http/token-guard.ts',
    find: 'const firstDelayMs = 50;',
    put: 'const firstDelayMs = 0;',
    caughtBy: {
      file: 'test/http/refusals.test.ts',
      name: 'wrong tokens are counted, logged in few lines and answered ever later; the right one is not slowed',
    },
  },
  {
    id: 'health-without-reserve',
    promise: 'Honest',
    wrong: 'no connection is kept for /healthz while all others are at work',
    file: 'src/http/bound-connections.ts',
    find: 'const spareMax = 64;',
    put: 'const spareMax = 0;',
    caughtBy: {
      file: 'test/http/refusals.test.ts',
      name: '/healthz and /readyz answer while all connections of an address are at work, and other pages say so',
    },
  },
  {
    id: 'rejects-makes-a-schema',
    promise: 'Honest',
    wrong: 'a command that lists rejects brings the schema up to date first',
    file: 'src/cli/commands/rejects.ts',
    find: "import { openExistingLedger } from '../open-existing-ledger.ts';",
    put: "import { openMigratedLedger as openExistingLedger } from '../open-ledger.ts';",
    caughtBy: {
      file: 'test/whole/looking.test.ts',
      name: 'no command but start, backfill, sync and migrate makes a schema or changes that of another version',
    },
  },
];
