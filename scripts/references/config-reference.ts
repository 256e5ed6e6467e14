// docs/references/configuration.md: every variable and every key of the configuration file, as
// their schema has them.
import { z } from 'zod';
import { CLIENT_VARIABLES } from '../../src/config/process-environment.ts';
import { RELOADABLE_PARTS } from '../../src/config/live-config.ts';
import { environmentSchema } from '../../src/config/schema-environment.ts';
import { configKeys, type ConfigKey } from './config-keys.ts';
import { tableOf } from './schema-fields.ts';

const HEAD = `# Reference of the configuration

Made by \`npm run build\` from the schema of the configuration; do not edit it. [configuration.md](../configuration.md) explains how the configuration is used: sources, secrets, reloading.`;

const VARIABLES_HEAD = `## Environment

For the variables \`OTEL_*\` of OpenTelemetry, see [telemetry](../telemetry.md).`;

const RELOAD_HEAD = `## Reloadable settings

A new value of these settings takes effect when the process reloads its configuration. All other settings need a restart.`;

/** The sections of the file by their titles. One that is not named here is in the last. */
const SECTIONS: Record<string, readonly string[]> = {
  Agents: ['agents'],
  Workspace: ['workspace'],
  'Messages and sessions': ['messages', 'session'],
  'Concurrency and crons': ['lanes', 'cron'],
  Models: ['models', 'budgets'],
  Batches: ['batches'],
  Tools: ['tools'],
  'Owner and prompts': ['owner', 'sandbox', 'docs', 'tts', 'reactions', 'reasoning', 'memory', 'heartbeat'],
  Channels: ['channels'],
  'Plugins and images': ['plugins', 'images'],
  'API, events, limits, shutdown': [],
};

export function configReference(): string {
  const titles = Object.keys(SECTIONS);
  const titleOf = ({ key }: ConfigKey): string =>
    titles.find((title) => SECTIONS[title]?.includes(key.split('.')[0] ?? '')) ?? titles.at(-1) ?? '';
  const keys = Map.groupBy(configKeys(), titleOf);
  const tables = titles.map((title) => `## ${title}\n\n${keyTable(keys.get(title) ?? [])}`);
  const text = [HEAD, VARIABLES_HEAD, variableTable(), RELOAD_HEAD, reloadTable(), ...tables].join('\n\n');
  // The schema names the pages as they are for its readers: in docs.
  return `${text.replaceAll(/\]\((?=[a-z][\w/-]*\.md)/g, '](../')}\n`;
}

function keyTable(keys: readonly ConfigKey[]): string {
  const rows = keys.map(({ key, type, default: value, meaning }) => [
    `\`${key}\``,
    type,
    value === 'none' ? value : `\`${value}\``,
    meaning,
  ]);
  return tableOf(['key', 'type', 'default', 'meaning'], rows);
}

function variableTable(): string {
  const { properties = {} } = z.toJSONSchema(environmentSchema, { io: 'input', unrepresentable: 'any' });
  const defaults: Record<string, unknown> = environmentSchema.parse({});
  const described = Object.entries(environmentSchema.shape).flatMap(([setting, schema]) => {
    const { env = '', unset, description } = schema.meta() ?? {};
    const { default: written } = properties[setting] as { default?: unknown };
    const value = written ?? defaults[setting];
    return description === undefined
      ? []
      : [{ env: [env].flat().join(', '), unset: unset ?? code(value), description }];
  });
  const rows = [...described, ...CLIENT_VARIABLES].map(({ env, unset, description }) => [
    env
      .split(', ')
      .map((name) => `\`${name}\``)
      .join(', '),
    unset,
    description,
  ]);
  return tableOf(['variable', 'default', 'meaning'], rows);
}

function code(value: unknown): string {
  return value === undefined ? 'none' : `\`${JSON.stringify(value).replaceAll('"', '')}\``;
}

/** Settings with the same effect share a row. */
function reloadTable(): string {
  const effects = Map.groupBy(RELOADABLE_PARTS, ([, effect]) => effect);
  const rows = [...effects].map(([effect, parts]) => [parts.map(([path]) => `\`${path}\``).join(', '), effect]);
  return tableOf(['setting', 'a new value is'], rows);
}
