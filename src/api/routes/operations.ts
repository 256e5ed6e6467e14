// Routes for operators: the configuration of the process that answers, the audit log, liveness,
// readiness, metrics and the description of the API.
import { hostname } from 'node:os';
import { z } from 'zod';
import { ConfigError, reloadablePartOf, type ConfigChange } from '../../config.ts';
import { liveness, readiness } from '../../contract/answers.ts';
import { auditEntry } from '../../contract/keys.ts';
import { configChanges, configReload, configuration } from '../../contract/settings.ts';
import { reloadConfig } from '../../kernel/use-cases/record-change.ts';
import { changes } from '../../kernel/views/audit.ts';
import { readDatabaseFacts } from '../../kernel/views/database.ts';
import type { ApiContext } from '../context.ts';
import { answerWithin, Problem } from '../problem.ts';
import { defineList, defineRead, defineRoute, type Route } from '../route.ts';

const getConfig = defineRead({
  operationId: 'getConfig',
  belongs: 'service',
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
  belongs: 'service',
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
    body: buildChanges(context, await orProblem(async () => context.live.compare())),
  }),
});

const patchConfig = defineRoute({
  operationId: 'reloadConfig',
  belongs: 'service',
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
    body: buildChanges(context, await orProblem(() => reloadConfig(context.live, context.logger))),
  }),
});

function buildChanges({ config }: ApiContext, items: ConfigChange[]): z.output<typeof configChanges> {
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

const getAudit = defineList({
  operationId: 'listAudit',
  belongs: 'service',
  path: '/v1/audit',
  summary: 'The audit log: changes through the API, newest first, without messages and system events',
  role: 'admin',
  filter: {
    principal: z.string().max(200).optional().describe('Only requests of this caller: `admin`, or `key:<name>`'),
    action: z.string().max(100).optional().describe('Only requests of this operation, by its name in this document'),
  },
  shows: { description: 'A page of changes', item: auditEntry },
  list: ({ query }, page, { context }) => changes.list(context.views, query, page),
});

const SCRAPE_MS_MAX = 3_000;

const getHealth = defineRead({
  operationId: 'getHealth',
  belongs: 'public',
  path: '/healthz',
  summary: 'Whether this process is alive',
  isPublic: true,
  shows: { description: 'The process is alive', schema: liveness },
  read: async () => ({ status: 'ok' }) satisfies z.output<typeof liveness>,
});

const getReadiness = defineRoute({
  operationId: 'getReadiness',
  belongs: 'public',
  method: 'GET',
  path: '/readyz',
  summary: 'Whether each dependency is available, and which model is in use',
  isPublic: true,
  answers: {
    200: { description: 'Ready, or degraded: messages are accepted and wait', schema: readiness },
    503: { description: 'A dependency is missing', schema: readiness },
  },
  async handle({ reply }, { services }) {
    // Only browsers send cookies. Monitoring gets the current state.
    const isBrowser = reply.request.headers.cookie !== undefined;
    const found = await (isBrowser ? services.pages.readReadiness() : services.readReadiness());
    return { status: found.status === 'unavailable' ? 503 : 200, body: found };
  },
});

const getMetrics = defineRoute({
  operationId: 'getMetrics',
  belongs: 'service',
  method: 'GET',
  path: '/metrics',
  summary: 'All metrics, for Prometheus',
  answers: { 200: { description: 'Prometheus text', contentType: 'text/plain' } },
  async handle(_request, { services }) {
    const readiness = answerWithin(services.readReadiness(), SCRAPE_MS_MAX, '').catch(() => null);
    const text = await services.metrics.render(readiness);
    return { status: 200, body: text, headers: { 'content-type': services.metrics.registry.contentType } };
  },
});

const getOpenApi = defineRead({
  operationId: 'getOpenApi',
  belongs: 'public',
  path: '/openapi.json',
  summary: 'This document',
  shows: { description: 'OpenAPI 3.1' },
  read: async (_request, { services }) => services.openApi(),
});

export const operationRoutes: Route[] = [
  getConfig,
  getConfigDiff,
  patchConfig,
  getAudit,
  getHealth,
  getReadiness,
  getMetrics,
  getOpenApi,
];
