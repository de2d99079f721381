// Writes docs/settings.md from the table of settings: npx tsx test/support/write-settings-doc.ts
import { writeFileSync } from 'node:fs';
import { renderSettingsDoc } from '../../src/config/settings-help.ts';

writeFileSync(new URL('../../docs/settings.md', import.meta.url), renderSettingsDoc());
