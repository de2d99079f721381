// Writes docs/planted-bugs.md: npm run docs
import { writeFileSync } from 'node:fs';
import { plantedBugs } from './planted-bugs.ts';
import { renderPlantedBugs } from './render-planted-bugs.ts';

const page = new URL('../../docs/planted-bugs.md', import.meta.url);
writeFileSync(page, renderPlantedBugs(plantedBugs));
