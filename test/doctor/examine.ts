import { onTestFinished } from 'vitest';
import { inspectSettings } from '../../src/config/parse-settings.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { type DoctorOptions, runDoctor } from '../../src/doctor/run-doctor.ts';
import { LedgerError } from '../../src/kernel/errors.ts';
import { silentLog } from '../../src/kernel/log.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox-options.ts';
import { sandboxSettings } from '../../src/sandbox/sandbox-settings.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts';

export type Examination = { findings: Finding[]; find(name: string): Finding };

export async function withSandboxOf(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({
    signer: 'params-hmac',
    transactions: 400,
    settleMs: 0,
    ...options,
  });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** The doctor's findings in an environment; without a ledger the database does not answer. */
export async function examine(
  sandbox: Sandbox,
  env: Record<string, string> = {},
  options: Partial<DoctorOptions> = {},
): Promise<Examination> {
  const whole = { ...sandboxSettings(sandbox), WALLET_MAX_RPS: 'off', ...env };
  const findings: Finding[] = [];
  const inspected = inspectSettings(whole, () => '', { needs: ['service'] });
  await runDoctor({
    ...inspected,
    wallets: inspected.settings.walletNames,
    files: [],
    env: whole,
    openLedger: () =>
      Promise.reject(new LedgerError('database-unreachable', 'nothing listens there')),
    isTryingVariants: false,
    log: silentLog,
    clock: Date.now,
    signal: new AbortController().signal,
    onFindings: (some) => findings.push(...some),
    ...options,
  });
  return {
    findings,
    find(name) {
      const found = findings.find((finding) => finding.name === name);
      if (!found) throw new Error(`no finding ${name} in ${JSON.stringify(findings)}`);
      return found;
    },
  };
}
