// The configuration on the wire, and what its fields mean.
import { z } from 'zod';
import { SETTING_SOURCES } from '../config/sources.ts';
import { defaultModel } from './answers.ts';
import { text, flag } from './fields.ts';

const setting = z.strictObject({
  path: text.describe('Where it is in the file; `runtime.` and `start.` stand for variables and options'),
  value: z
    .unknown()
    .describe(
      'The value in use, durations in the unit of the name; null: it is not set and has no default. A secret has `isSet` and `fingerprint`, the first 8 hex digits of its SHA-256',
    ),
  isSecret: flag.describe('Whether `value` is the fingerprint of a secret'),
  source: z.enum(SETTING_SOURCES).describe('Where the value comes from'),
  at: text.nullable().describe('The file with the line, the variable or the option that decides it; null: the default'),
  needsRestart: flag.describe('Whether a change takes effect only when the process starts again'),
});

export const configuration = z.strictObject({
  file: text.nullable().describe('The file that the process has read; null: there is none'),
  items: z.array(setting).describe('Every setting of the process that answers, in the order of the configuration'),
  versions: z
    .strictObject({
      holdfast: text.describe('The version of Holdfast'),
      node: text.describe('The version of Node'),
      postgres: text.describe('The version of PostgreSQL'),
      layout: text.describe('The newest migration of the database'),
      queue: text.describe('The backend of the queue: `postgres` or `redis`'),
      database: z.enum(['embedded', 'configured']).describe("Whether PostgreSQL is Holdfast's own or another"),
    })
    .describe('What the process runs on'),
  model: defaultModel,
});

/** What differs between the running configuration and what its file and environment say now. */
export const configChanges = z.strictObject({
  file: text.nullable().describe('The file that the process reads; null: there is none'),
  host: text.describe('The machine of the process that answers'),
  pid: z.number().describe('The id of that process'),
  items: z
    .array(
      z.strictObject({
        path: text.describe('The setting, as in `GET /v1/config`'),
        value: z.unknown().describe('The value of the running process, as in `GET /v1/config`; null: it has none'),
        next: z.unknown().describe('The value in the file or the environment as they are now, in the same form'),
        isSecret: flag.describe('Whether the values are fingerprints of a secret'),
        needsRestart: flag.describe('Whether the new value takes effect only when the process starts again'),
        hasEffect: flag.describe(
          'False for budgets that are gone from the file: they stay until it says `budgets: []`',
        ),
      }),
    )
    .describe('Every setting that differs; empty: none'),
});
export type ConfigChanges = z.output<typeof configChanges>;

export const configReload = z.strictObject({
  reload: z.literal(true).describe('True: the process reads its configuration again'),
});
