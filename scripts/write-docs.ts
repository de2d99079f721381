// Writes the pages of docs, and .env.example, that follow from the code: npm run docs
import { writeFileSync } from 'node:fs';
import { renderEnvExample, renderSettingsDoc } from '../src/config/settings-help.ts';
import { silentLog } from '../src/kernel/log.ts';
import { connectLedger } from '../src/ledger/connection/connect-ledger.ts';
import { migrateLedger } from '../src/ledger/connection/migrate-ledger.ts';
import { renderFaultsDoc } from '../test/docs/render-faults-doc.ts';
import { plantedBugs } from '../test/mutation/planted-bugs.ts';
import { renderPlantedBugs } from '../test/mutation/render-planted-bugs.ts';
import { startEmbeddedServer } from '../test/support/embedded-server.ts';
import { readCatalogue } from './read-catalogue.ts';
import { renderCommandsDoc } from './render-commands-doc.ts';
import { renderLimitsDoc } from './render-limits-doc.ts';
import { renderMetricsDoc } from './render-metrics-doc.ts';
import { renderTablesDoc } from './render-tables-doc.ts';

/** Renders the tables of a freshly migrated database. */
async function renderTables(): Promise<string> {
  const server = await startEmbeddedServer();
  const ledger = connectLedger({ connectionString: server.url, poolSize: 2, log: silentLog });
  try {
    await migrateLedger(ledger);
    return renderTablesDoc(await readCatalogue(ledger.pool));
  } finally {
    await ledger.close();
    await server.close();
  }
}

const pages = {
  '.env.example': renderEnvExample(),
  'docs/commands.md': renderCommandsDoc(),
  'docs/metrics.md': await renderMetricsDoc(),
  'docs/settings.md': renderSettingsDoc(),
  'docs/limits.md': renderLimitsDoc(),
  'docs/planted-bugs.md': renderPlantedBugs(plantedBugs),
  'docs/faults.md': renderFaultsDoc(),
  'docs/tables.md': await renderTables(),
};
for (const [page, text] of Object.entries(pages))
  writeFileSync(new URL(`../${page}`, import.meta.url), text);
