// `npm run write:client` writes the types and places of all operations for the typed client.
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { clientFiles } from './client-operations.ts';

const FOLDER = resolve(import.meta.dirname, '../src/client');

for (const [name, text] of Object.entries(clientFiles())) writeFileSync(join(FOLDER, name), text);
