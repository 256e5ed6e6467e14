// `npm run write:references` writes the references of docs/references.
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { referencePages } from './references/pages.ts';

const ROOT = resolve(import.meta.dirname, '..');

for (const [path, text] of Object.entries(referencePages())) writeFileSync(join(ROOT, path), text);
