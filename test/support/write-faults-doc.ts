// Writes docs/faults.md from the names of the tests: npm run docs
import { writeFileSync } from 'node:fs';
import { renderFaultsDoc } from '../docs/render-faults-doc.ts';

writeFileSync(new URL('../../docs/faults.md', import.meta.url), renderFaultsDoc());
