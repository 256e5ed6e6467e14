// `npm run write:configuration-page` writes the tables of docs/configuration.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { withConfigKeys } from './references/config-tables.ts';

const PAGE = resolve(import.meta.dirname, '../docs/configuration.md');

writeFileSync(PAGE, withConfigKeys(readFileSync(PAGE, 'utf8')));
