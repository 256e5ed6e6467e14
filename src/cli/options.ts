// How texts of arguments and options become values, and what many commands take.
import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../core/time.ts';
import { isObject } from '../core/json.ts';
import { usageError } from './cli-error.ts';
import { fileError } from './file-error.ts';

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,10}$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

/** Parses an amount of money of an option. */
export function dollars(text: string): number {
  const value = Number(text);
  if (!/^\d+(?:\.\d+)?$/.test(text)) throw new InvalidArgumentError('It must be an amount in dollars, such as 2.50.');
  return value;
}

/** Parses a part of a whole. */
export function parseRate(text: string): number {
  const value = Number(text);
  if (!/^[01](\.\d{1,6})?$/.test(text) || value > 1) throw new InvalidArgumentError('It must be a number from 0 to 1.');
  return value;
}

/** Parses the duration of an option, in milliseconds. */
export function createDurationParser(option: string): (text: string) => number {
  return (text) => {
    const ms = text === '0' ? 0 : parseDuration(text);
    if (ms !== undefined) return ms;
    throw usageError(
      `${option}: ${JSON.stringify(text)} is not a duration`,
      'pass a duration such as 30s, 10m or 1h30m',
    );
  };
}

/** Parses a list of texts. */
export function commaSeparated(text: string): string[] {
  return text.split(',');
}

/** A tag as `key=value`. */
const TAG = /^([^:=]+)=(.*)$/s;
const TAG_HELP = 'It must be a key without a colon, an equals sign and a value, such as customer=42.';

function parseTags(text: string, before: Record<string, string> | undefined): Record<string, string> {
  const [, key, value] = TAG.exec(text) ?? [];
  if (key === undefined || value === undefined) throw new InvalidArgumentError(TAG_HELP);
  if (before !== undefined && Object.hasOwn(before, key))
    throw new InvalidArgumentError(`The tag ${key} has a value already; pass each key once.`);
  return { ...before, [key]: value };
}

/** In the form of the API. */
function parseTagFilter(text: string): string {
  if (!TAG.test(text)) throw new InvalidArgumentError(TAG_HELP);
  return text.replace('=', ':');
}

/** What things that get tags take. */
export const TAGS = {
  tags: ['--tag <key=value>', 'a tag by which its turns are found again; may be repeated', parseTags],
} as const;

function readSchema(file: string): { type: 'json_schema'; schema: object } {
  try {
    const schema: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (isObject(schema)) return { type: 'json_schema', schema };
  } catch (cause) {
    throw fileError('read', file, { cause, fix: SCHEMA_FIX });
  }
  throw fileError('read', file, { cause: 'it is not a JSON object', fix: SCHEMA_FIX });
}

const SCHEMA_FIX = 'pass a file with a JSON schema of type object';

/** What starts turns takes whose answers are JSON. */
export const SCHEMA = {
  responseFormat: ['--schema <file>', 'the reply is JSON that fits the JSON schema in this file', readSchema],
} as const;

/** What lists take that can show only what has a tag. */
export const TAG_FILTER = { tag: ['--tag <key=value>', 'only with this tag', parseTagFilter] } as const;

/** What lists take. */
export function pages(itemsMax = 1000) {
  return {
    limit: ['--limit <count>', 'the size of the page', wholeNumber(1, itemsMax), 50],
    cursor: ['--cursor <cursor>', 'continue after the page that printed this cursor'],
  } as const;
}

/** How long a command waits if its user does not say it. */
export const WAIT_SECONDS = 300;

/** What commands take that can wait for something. */
export function waitFor(subject: string, secondsMax = 86_400) {
  const description = `wait for ${subject}; ${WAIT_SECONDS} seconds by default`;
  return {
    wait: ['--wait [seconds]', description, wholeNumber(0, secondsMax), WAIT_SECONDS],
  } as const;
}

/** What commands about one thing take. */
export const ITS_ID = { id: ['<id>', 'its id'] } as const;
export const ITS_KEY = { key: ['<session>', 'the session key'] } as const;

/** What commands take that change many things, or remove any. */
export const CAREFUL = {
  dryRun: ['--dry-run', 'only count the matching objects'],
  yes: ['--yes', 'do not ask for confirmation'],
  reason: ['--reason <text>', 'the reason, stored in the audit log'],
} as const;
