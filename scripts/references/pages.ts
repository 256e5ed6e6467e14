// The references that are made of the code; see `scripts/generate.ts`.
import { apiReference } from './api-reference.ts';
import { cliReference } from './cli-reference.ts';
import { clientReference } from './client-reference.ts';
import { configReference } from './config-reference.ts';
import { featuresReference } from './features-reference.ts';

/** The pages by their names in docs/references. */
export function referencePages(): Record<string, string> {
  return {
    'api.md': apiReference(),
    'cli.md': cliReference(),
    'client.md': clientReference(),
    'configuration.md': configReference(),
    'features.md': featuresReference(),
  };
}
