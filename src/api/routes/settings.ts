// The configuration of the process that answers.
import { readDatabaseFacts } from '../../store/views/database-facts.ts';
import { defineRoute, type Route } from '../route.ts';
import { configuration } from '../schemas/settings.ts';

const getConfig = defineRoute({
  method: 'GET',
  path: '/v1/config',
  summary: 'Every setting of this process with its source, and the versions it runs on. Secrets are fingerprints',
  role: 'admin',
  answers: { 200: { description: 'The configuration', schema: configuration } },
  async handle(_request, { context }) {
    const { config, settings, installation, modelInfo, reads } = context;
    const { version: postgres, layout } = await readDatabaseFacts(reads);
    return {
      status: 200,
      body: {
        file: config.runtime.configPath,
        // The configuration is read once, when the process starts.
        items: settings.map((setting) => ({ ...setting, needsRestart: true })),
        versions: { ...installation, node: process.versions.node, postgres, layout },
        model: modelInfo,
      },
    };
  },
});

export const settingsRoutes: Route[] = [getConfig];
