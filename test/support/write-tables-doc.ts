// Writes docs/tables.md from a freshly migrated database: npm run docs
import { writeFileSync } from 'node:fs';
import { connectLedger } from '../../src/ledger/connect-ledger.ts';
import { migrateLedger } from '../../src/ledger/migrate-ledger.ts';
import { startEmbeddedServer } from './embedded-server.ts';
import { readCatalogue } from './read-catalogue.ts';
import { renderTablesDoc } from './render-tables-doc.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

const server = await startEmbeddedServer();
const ledger = connectLedger({ connectionString: server.url, poolSize: 2, log: silent });
try {
  await migrateLedger(ledger);
  const catalogue = await readCatalogue(ledger.pool);
  writeFileSync(new URL('../../docs/tables.md', import.meta.url), renderTablesDoc(catalogue));
} finally {
  await ledger.close();
  await server.close();
}
