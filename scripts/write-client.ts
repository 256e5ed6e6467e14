// `npm run write:client` writes the types and places of all operations for the typed client.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { clientOperationsText } from './client-operations.ts';

writeFileSync(resolve(import.meta.dirname, '../src/client/operations.ts'), clientOperationsText());
