// The actions of the `gateway` tool. Secrets are fingerprints in everything that they return (G31).
import { z } from 'zod';
import { holdfastVersion } from '../../cli/holdfast-version.ts';
import { ConfigError, loadConfigFile, secretsOf, type Config, type Setting } from '../../config.ts';
import { type ShownSecret, createRedact } from '../../config/secrets.ts';
import { fileSchema } from '../../config/schema.ts';
import { schemaBelow, unwrapSchema } from '../../config/check-input.ts';
import { cutMiddle } from '../../core/content-size.ts';
import { cutHead } from '../../core/text.ts';
import { countWaiting } from '../../kernel/views/count-waiting.ts';
import { readDatabaseFacts } from '../../kernel/views/database.ts';
import { workers } from '../../kernel/views/workers.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { errorOutcome, textOutcome, type ToolOutcome } from '../../tools/tool.ts';
import { readTroubles, withMarks } from '../overview/read-overview.ts';
import { applyPatch, readHash } from './apply-patch.ts';
import type { GatewayInput } from './gateway-tool.ts';

const PROCESSES_MAX = 20;
const TROUBLES_MAX = 20;
const SCHEMA_CHARS_MAX = 12_000;
const TEXT_CHARS_MAX = 30_000;

export async function runAction(service: Service, asked: GatewayInput): Promise<ToolOutcome> {
  try {
    return await run(service, asked);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // A fault of another setting can repeat its value.
    const faults = createRedact(secretsOf(service.config))(error.message);
    return errorOutcome(`gateway: ${asked.action === 'config.apply' ? 'nothing was changed: ' : ''}${faults}`);
  }
}

async function run(service: Service, { action, path = '', patch, baseHash }: GatewayInput): Promise<ToolOutcome> {
  const { config } = service;
  switch (action) {
    case 'status':
      return textOutcome(await describeService(service));
    case 'config.get':
      return textOutcome(describeSettings(config, path));
    case 'config.schema':
      return describeSchema(path);
    case 'config.apply':
      if (patch === undefined || baseHash === undefined)
        return errorOutcome(
          'gateway: config.apply needs patch and baseHash. config.get returns the sha256 of the file.',
        );
      return await applyPatch(config.runtime.configPath, { patch, baseHash });
    default:
      return action satisfies never;
  }
}

async function describeService(service: Service): Promise<string> {
  const { views } = service;
  const [{ version: postgres, layout }, { items: processes }, waiting, troubles] = await Promise.all([
    readDatabaseFacts(views),
    workers.list(views, {}, { after: null, limit: PROCESSES_MAX }),
    countWaiting(views),
    readTroubles({ reads: views, service }, Promise.resolve({ dependencies: [] })),
  ]);
  const { items } = await withMarks({ reads: views, service }, troubles);
  const open = items.filter(({ state }) => state === 'open');
  return [
    `Holdfast ${holdfastVersion()} on Node ${process.versions.node}, PostgreSQL ${postgres}, schema ${layout}`,
    `Waiting inputs: ${waiting}`,
    ...processes.map(
      ({ name, state, roles, version, startedAt, running }) =>
        `Process ${name}: ${state}, ${roles.join(' and ')}, version ${version}, since ${startedAt}, ${running.length} turns`,
    ),
    open.length === 0 ? 'Nothing needs an operator.' : 'Needs an operator:',
    ...open.slice(0, TROUBLES_MAX).map(({ severity, text, fix }) => `- ${severity}: ${text} ${fix}`),
  ].join('\n');
}

/**
 * Settings of the file and the environment as they are now: those that something decides, or all
 * below a path.
 */
function describeSettings({ runtime }: Config, path: string): string {
  const { settings } = loadConfigFile(runtime.configPath);
  const shown = settings.filter((setting) =>
    path === '' ? setting.source !== 'default' : isBelow(setting.path, path) && hasValue(setting),
  );
  const file =
    runtime.configPath === null ? 'File: none' : `File: ${runtime.configPath}, sha256 ${readHash(runtime.configPath)}`;
  const lines = shown.map(({ path: at, value, source }) => `${at} = ${JSON.stringify(value)} (${source})`);
  const rest = path === '' ? 'All other settings have their defaults; give a path to see them.' : '';
  return cutMiddle(
    [file, ...(lines.length === 0 ? ['No setting here has a value.'] : lines), rest].join('\n').trim(),
    TEXT_CHARS_MAX,
  );
}

function isBelow(path: string, part: string): boolean {
  return path === part || path.startsWith(`${part}.`) || path.startsWith(`${part}[`);
}

function hasValue({ value, isSecret }: Setting): boolean {
  return isSecret ? (value as ShownSecret).isSet : value !== null;
}

/** The JSON Schema of a part; of one that is too large, its keys. */
function describeSchema(path: string): ToolOutcome {
  const steps = path.split(/\.|\[\d*\]\.?/).filter((step) => step !== '');
  let schema: z.ZodType = fileSchema;
  for (const step of steps) {
    const below = schemaBelow(schema, unwrapSchema(schema) instanceof z.ZodArray ? 0 : step);
    const next = unwrapSchema(schema) instanceof z.ZodArray && below !== undefined ? schemaBelow(below, step) : below;
    if (next === undefined || next instanceof z.ZodNever) return errorOutcome(unknownKey(path, step, schema));
    schema = next;
  }
  const text = JSON.stringify(toJsonSchema(schema));
  if (text.length <= SCHEMA_CHARS_MAX) return textOutcome(text);
  const keys = keysOf(schema).map(
    ([key, child]) =>
      `${key}: ${
        child.description ??
        keysOf(child)
          .map(([name]) => name)
          .join(', ')
      }`,
  );
  return textOutcome(
    cutHead(
      `${path === '' ? 'The file' : path} has these keys; ask for one by its path.\n${keys.join('\n')}`,
      SCHEMA_CHARS_MAX,
    ),
  );
}

function toJsonSchema(schema: z.ZodType): unknown {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      delete jsonSchema['reload'];
    },
  });
  return rest;
}

function keysOf(schema: z.ZodType): [string, z.ZodType][] {
  const inner = unwrapSchema(schema);
  if (inner instanceof z.ZodArray) return keysOf(inner.element as z.ZodType);
  return inner instanceof z.ZodObject ? Object.entries(inner.shape as Record<string, z.ZodType>) : [];
}

function unknownKey(path: string, step: string, schema: z.ZodType): string {
  const known = keysOf(schema).map(([key]) => key);
  const there = known.length === 0 ? 'There are no keys.' : `There are: ${known.join(', ')}`;
  return `gateway: path: ${JSON.stringify(path)} has no key ${JSON.stringify(step)}. ${cutHead(there, 2_000)}`;
}
