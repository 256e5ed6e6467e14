// The configuration on the wire, and what its fields mean.
import { z } from 'zod';
import { SETTING_SOURCES } from '../config/sources.ts';

const setting = z.strictObject({
  path: z.string(),
  value: z.unknown(),
  isSecret: z.boolean(),
  source: z.enum(SETTING_SOURCES),
  at: z.string().nullable(),
  needsRestart: z.boolean(),
});

export const configuration = z.strictObject({
  file: z.string().nullable(),
  items: z.array(setting),
  versions: z.strictObject({
    holdfast: z.string(),
    node: z.string(),
    postgres: z.string(),
    layout: z.string(),
    queue: z.string(),
    database: z.enum(['embedded', 'configured']),
  }),
  model: z.strictObject({ provider: z.string(), name: z.string(), isScripted: z.boolean() }),
});

/** What differs between the running configuration and what its file and environment say now. */
export const configChanges = z.strictObject({
  file: z.string().nullable(),
  host: z.string(),
  pid: z.number(),
  items: z.array(
    z.strictObject({
      path: z.string(),
      value: z.unknown(),
      next: z.unknown(),
      isSecret: z.boolean(),
      needsRestart: z.boolean(),
      hasEffect: z.boolean(),
    }),
  ),
});
export type ConfigChanges = z.output<typeof configChanges>;

export const configReload = z.strictObject({ reload: z.literal(true) });

const CHANGE_DESCRIPTIONS = {
  file: 'The file that the process reads; null: there is none',
  host: 'The machine of the process that answers',
  pid: 'The id of that process',
  items: 'Every setting that differs; empty: none',
  'items.path': 'As in `GET /v1/config`',
  'items.value': 'The value of the running process; null: it has none. Of a secret, `isSet` and `fingerprint`',
  'items.next': 'The value in the file or the environment as they are now, in the same form',
  'items.isSecret': 'Whether the values are fingerprints of a secret',
  'items.needsRestart': 'Whether the new value takes effect only when the process starts again',
  'items.hasEffect':
    'False for budgets when the file no longer has `budgets`: they stay in force, and `budgets: []` ends them',
};

/** By operation and field. A part of `field-descriptions.ts`. */
export const SETTINGS_DESCRIPTIONS: Readonly<Record<string, string>> = {
  ...describedFor('compareConfig'),
  ...describedFor('reloadConfig'),
  'reloadConfig.reload': 'Always true',
  'getConfig.file': 'The file that the process has read; null: there is none',
  'getConfig.items': 'Every setting of the process that answers, in the order of the configuration',
  'getConfig.items.path':
    'Where it is in the file (`agents.list[0].id`), or `runtime.` and `start.` for what variables and options say',
  'getConfig.items.value':
    'The value in use, durations in the unit of the name; null: it is not set and has no default. Of a secret, `isSet` and `fingerprint`, which is the first 8 hex digits of its SHA-256',
  'getConfig.items.isSecret': 'Whether `value` is the fingerprint of a secret',
  'getConfig.items.source': 'What decides it',
  'getConfig.items.at': 'The file with the line, the variable or the option that decides it; null: the default',
  'getConfig.items.needsRestart': 'Whether a change takes effect only when the process starts again',
  'getConfig.versions': 'What the process runs on',
  'getConfig.versions.holdfast': 'Holdfast',
  'getConfig.versions.node': 'Node',
  'getConfig.versions.postgres': 'PostgreSQL',
  'getConfig.versions.layout': 'The newest migration of the database',
  'getConfig.versions.queue': 'The backend of the queue: `postgres` or `redis`',
  'getConfig.versions.database': '`embedded`: its own in the data directory',
  'getConfig.model': 'The model that answers',
};

function describedFor(operation: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(CHANGE_DESCRIPTIONS).map(([field, text]) => [`${operation}.${field}`, text]),
  );
}
