// The references that are made of the code. They are committed, and a test compares them with these texts.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { apiReference } from './api-reference.ts';
import { cliReference } from './cli-reference.ts';
import { clientReference } from './client-reference.ts';
import { withConfigKeys } from './config-tables.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const CONFIGURATION = 'docs/configuration.md';

/** The pages by their paths. */
export function referencePages(): Record<string, string> {
  return {
    'docs/references/api.md': apiReference(),
    'docs/references/cli.md': cliReference(),
    'docs/references/client.md': clientReference(),
    [CONFIGURATION]: withConfigKeys(readFileSync(join(ROOT, CONFIGURATION), 'utf8')),
  };
}
