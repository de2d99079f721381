// Writes docs/limits.md from the table of limits: npm run docs
import { writeFileSync } from 'node:fs';
import { renderLimitsDoc } from './render-limits-doc.ts';

writeFileSync('docs/limits.md', renderLimitsDoc());
