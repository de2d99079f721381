import { onTestFinished } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/sandbox-options.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts';

/** A sandbox that is closed with the test. */
export async function withSandbox(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ transactions: 200, ...options });
  onTestFinished(() => sandbox.close());
  return sandbox;
}
