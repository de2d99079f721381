import type { CommandContext } from '../command-context.ts';
import { migrate, openLedger } from '../open-ledger.ts';

/** `wallet-ledger migrate`: the schemas of ledger and queue are up to date. */
export async function migrateCommand(context: CommandContext): Promise<number> {
  const opened = await openLedger(context);
  await migrate(opened, context);
  process.stderr.write('the schema is up to date\n');
  return 0;
}
