// The configuration of the process that answers.
import { hostname } from 'node:os';
import type { z } from 'zod';
import { ConfigError, reloadablePartOf, type ConfigChange } from '../../config.ts';
import { reloadConfig } from '../../kernel/use-cases/record-change.ts';
import { readDatabaseFacts } from '../../kernel/views/database.ts';
import type { ApiContext } from '../context.ts';
import { Problem } from '../problem.ts';
import { defineRoute, defineRead, type Route } from '../route.ts';
import { configChanges, configReload, configuration } from '../../contract/settings.ts';

const getConfig = defineRead({
  operationId: 'getConfig',
  path: '/v1/config',
  summary:
    'All settings of this process with their sources, and the versions that it runs on. Secrets are shown as fingerprints',
  role: 'admin',
  shows: { description: 'The configuration', schema: configuration },
  async read(_request, { context }) {
    const { config, live, flags, installation, modelInfo, reads } = context;
    const { version: postgres, layout } = await readDatabaseFacts(reads);
    return {
      file: config.runtime.configPath,
      items: [...live.settings, ...flags].map((setting) => ({
        ...setting,
        needsRestart: reloadablePartOf(setting.path) === undefined,
      })),
      versions: { ...installation, node: process.versions.node, postgres, layout },
      model: modelInfo,
    };
  },
});

const getConfigDiff = defineRoute({
  operationId: 'compareConfig',
  method: 'GET',
  path: '/v1/config/diff',
  summary: 'The differences between the configuration in use and the current file and environment',
  role: 'admin',
  answers: {
    200: { description: 'Every difference', schema: configChanges },
    409: { description: 'The file or the environment has a fault' },
  },
  handle: async (_request, { context }) => ({
    status: 200,
    body: buildAnswer(context, await orProblem(async () => context.live.compare())),
  }),
});

const patchConfig = defineRoute({
  operationId: 'reloadConfig',
  method: 'PATCH',
  path: '/v1/config',
  summary: 'Reload the configuration in the process that answers, and apply the settings that can change while it runs',
  role: 'admin',
  body: configReload,
  answers: {
    200: { description: 'Every difference, also those that need a restart', schema: configChanges },
    409: { description: 'The file or the environment has a fault; the running configuration stays in use' },
  },
  handle: async (_request, { context }) => ({
    status: 200,
    body: buildAnswer(context, await orProblem(() => reloadConfig(context.live, context.logger))),
  }),
});

function buildAnswer({ config }: ApiContext, items: ConfigChange[]): z.output<typeof configChanges> {
  return { file: config.runtime.configPath, host: hostname(), pid: process.pid, items };
}

async function orProblem(work: () => Promise<ConfigChange[]>): Promise<ConfigChange[]> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new Problem(
      'conflict',
      `The running configuration stays in use: ${error.message}. Correct the listed faults.`,
      {
        errors: error.issues.map(({ path, message }) => ({ path, message })),
        cause: error,
      },
    );
  }
}

export const settingsRoutes: Route[] = [getConfig, getConfigDiff, patchConfig];
