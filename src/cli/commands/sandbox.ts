import { untilAborted } from '../../kernel/abortable-sleep.ts';
import type { SandboxOptions } from '../../sandbox/sandbox-options.ts';
import { sandboxSettings } from '../../sandbox/sandbox-settings.ts';
import { startSandbox } from '../../sandbox/start-sandbox.ts';
import type { CommandContext } from '../context/command-context.ts';

/**
 * Runs `wallet-ledger sandbox`: prints the settings for reaching it, as a .env file, and serves until it is stopped.
 */
export async function sandbox(
  context: CommandContext,
  options: Partial<SandboxOptions>,
): Promise<number> {
  const running = await startSandbox(options);
  context.shutdown.add('sandbox', () => running.close());
  const lines = Object.entries(sandboxSettings(running)).map(([name, value]) => `${name}=${value}`);
  process.stdout.write(`${lines.join('\n')}\n`);
  context.log.info({ port: running.port, baseUrl: running.baseUrl }, 'sandbox listening');
  await untilAborted(context.shutdown.signal);
  return 0;
}
