import { grantIssuer, grantReader } from '../../ledger/grant-roles.ts';
import type { CommandContext } from '../command-context.ts';
import { migrate, openLedger } from '../open-ledger.ts';

/** `wallet-ledger migrate`: the schemas of ledger and queue are up to date, and the roles have their rights. */
export async function migrateCommand(
  context: CommandContext,
  { reader, issuer }: { reader?: string; issuer?: string },
): Promise<number> {
  const opened = await openLedger(context);
  await migrate(opened, context);
  process.stderr.write('the schema is up to date\n');
  if (reader !== undefined) {
    await grantReader(opened.ledger, reader);
    process.stderr.write(`${reader} may read all tables and views of the schema ledger\n`);
  }
  if (issuer !== undefined) {
    await grantIssuer(opened.ledger, issuer);
    process.stderr.write(`${issuer} may call ledger.take_address\n`);
  }
  return 0;
}
