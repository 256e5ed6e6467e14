// The keys of the configuration file as its schema has them, with a type for people.
import { z } from 'zod';
import { formatDuration } from '../../src/core/time.ts';
import { DOCS_PATH, fileSchema } from '../../src/config/schema.ts';

export interface ConfigKey {
  key: string;
  /** `integer 1 to 100`, `duration`, `"a" or "b"`. */
  type: string;
  /** JSON, `none`, and `"30m"` for a duration whose name does not say its unit. */
  default: string;
  meaning: string;
}

/** The parts of JSON Schema that the configuration uses. */
interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | false;
  anyOf?: Schema[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  default?: unknown;
  description?: string;
}

/** As the default of `docs.path` is shown. */
const DOCS_OF_INSTALLATION = '<installation>/docs';

/** Keys whose own keys another page describes. */
const DESCRIBED_ELSEWHERE = ['cron.jobs', 'agents.list'];

/** Defaults of the parts of a value that has none as a whole. */
const DEFAULTS_OF_PARTS: Record<string, unknown> = {
  'agents.defaults.heartbeat.when.timeoutSeconds': gateSecondsDefault(),
};

/** Every key of the file, in the order of the schema; keys below a list are not in it. */
export function configKeys(): ConfigKey[] {
  const schema = z.toJSONSchema(fileSchema, { io: 'input', unrepresentable: 'any' }) as Schema;
  return keysBelow(schema, fileSchema.parse({}), '');
}

function keysBelow(schema: Schema, defaults: unknown, parent: string): ConfigKey[] {
  const named = Object.entries(schema.properties ?? {});
  const others = schema.additionalProperties || undefined;
  const wildcard = others !== undefined && isObject(others) ? [['<name>', others] as const] : [];
  return [...named, ...wildcard].flatMap(([name, child]) => {
    const key = parent === '' ? name : `${parent}.${name}`;
    const fallback = isRecord(defaults) ? defaults[name] : undefined;
    const inner = child.anyOf?.find(isObject) ?? child;
    if (isObject(inner) && !DESCRIBED_ELSEWHERE.includes(key)) return keysBelow(inner, fallback, key);
    const type = typeOf(child);
    const value = defaultOf(key, type, fallback ?? child.default ?? DEFAULTS_OF_PARTS[key]);
    return [{ key, type, default: value, meaning: child.description ?? '' }];
  });
}

function defaultOf(key: string, type: string, value: unknown): string {
  if (value === undefined) return 'none';
  if (value === DOCS_PATH) return JSON.stringify(DOCS_OF_INSTALLATION);
  const hasUnit = /(?:Ms|Ms(?:Max|Min)|Seconds|Minutes|Hours)$/.test(key);
  return JSON.stringify(
    typeof value === 'number' && value > 0 && type === 'duration' && !hasUnit ? formatDuration(value) : value,
  );
}

/** True for a schema whose keys are known; a map of plain values is one value. */
function isObject(schema: Schema): boolean {
  const others = schema.additionalProperties;
  return schema.properties !== undefined || (typeof others === 'object' && isObject(others));
}

function typeOf(schema: Schema): string {
  const { anyOf, type, minimum, maximum } = schema;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return listed(schema.enum.map((choice) => JSON.stringify(choice)));
  if (anyOf !== undefined) {
    const choices = new Set(anyOf.map(typeOf).flatMap((choice) => choice.split(/, | or /)));
    return listed([...choices]);
  }
  // Only durations can be any number or a text.
  if (Array.isArray(type)) return 'duration';
  if (type === 'array') return `list of ${typeOf(schema.items ?? {}).replaceAll(/text|object/g, '$&s')}`;
  if (type === 'object') return mapTypeOf(schema);
  if (type === 'string') return 'text';
  if (type === 'integer' || type === 'number') return `${type} ${minimum} to ${maximum}`;
  return type ?? 'any';
}

function mapTypeOf({ properties, additionalProperties }: Schema): string {
  if (properties !== undefined || !additionalProperties) return 'object';
  const valueType = typeOf(additionalProperties);
  return valueType === 'text' ? 'map of texts' : 'map';
}

function listed(choices: string[]): string {
  return choices.length < 2 ? choices.join() : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;
}

function gateSecondsDefault(): number | undefined {
  const { agents } = fileSchema.parse({ agents: { defaults: { heartbeat: { when: { file: 'stock.txt' } } } } });
  return agents?.defaults?.heartbeat?.when?.timeoutSeconds;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
