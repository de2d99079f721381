// Writes .env.example from the table of settings: npx tsx test/support/write-env-example.ts
import { writeFileSync } from 'node:fs';
import { renderEnvExample } from '../../src/config/settings-help.ts';

writeFileSync(new URL('../../.env.example', import.meta.url), renderEnvExample());
