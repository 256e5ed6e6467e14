// Every setting by its path, with what decides it: what `holdfast config show` prints and
// `GET /v1/config` answers. Secrets are not in it, only their fingerprints (G31).
import JSON5 from 'json5';
import type { z } from 'zod';
import { type Environment, findFileVariable } from './process-environment.ts';
import type { LoadedFile } from './load-file.ts';
import { createRedact, isSecret, shownSecret, shownValue } from './secrets.ts';
import { PROVIDER_VARIABLES, SEARCH_VARIABLES } from './providers.ts';
import { environmentSchema, listVariables } from './schema-environment.ts';
import { fileSchema, type Config } from './schema.ts';
import { camelCase, schemasBelow } from './check-input.ts';

// On which line of the configuration file each value is. The JSON5 parser does not say so; this reads a text that it has accepted, and
// therefore only finds tokens and checks nothing.

const SPACE = /(?:\s|\/\/[^\n\r]*|\/\*[\s\S]*?\*\/)*/y;
const TOKEN = /[{}[\]:,]|"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|[^\s{}[\]:,"'/]+/y;
const LINE_END = /\r\n|\n|\r/g;

/** The line of each value, from 1, by its path (`agents.list[0].id`) as the file writes its keys. The text is valid JSON5. */
export function fileLines(text: string): ReadonlyMap<string, number> {
  return readPlaces(text).lines;
}

/** Where the fields of each object begin, as an offset, by its path; that of the whole file is empty. The text is valid JSON5. */
export function objectStarts(text: string): ReadonlyMap<string, number> {
  return readPlaces(text).starts;
}

function readPlaces(text: string) {
  const lines = new Map<string, number>();
  const starts = new Map<string, number>();
  let at = 0;
  let line = 1;

  function pass(pattern: RegExp): string {
    pattern.lastIndex = at;
    const passed = pattern.exec(text)?.[0] ?? '';
    at += passed.length;
    return passed;
  }

  /** The next token, with the line that it begins on; empty at the end. */
  function next(): { token: string; line: number } {
    line += pass(SPACE).match(LINE_END)?.length ?? 0;
    const token = pass(TOKEN);
    const begin = line;
    line += token.match(LINE_END)?.length ?? 0;
    return { token, line: begin };
  }

  function readValue(token: string, path: string): void {
    if (token === '{') {
      starts.set(path, at);
      readObject(path);
    } else if (token === '[') readList(path);
  }

  function readObject(path: string): void {
    for (let key = next(); key.token !== '}' && key.token !== ''; key = next()) {
      if (key.token === ',') continue;
      const child = path === '' ? unquoteName(key.token) : `${path}.${unquoteName(key.token)}`;
      lines.set(child, key.line);
      next();
      readValue(next().token, child);
    }
  }

  function readList(path: string): void {
    let n = 0;
    for (let item = next(); item.token !== ']' && item.token !== ''; item = next()) {
      if (item.token === ',') continue;
      lines.set(`${path}[${n}]`, item.line);
      readValue(item.token, `${path}[${n}]`);
      n += 1;
    }
  }

  readValue(next().token, '');
  return { lines, starts };
}

/** A key without its quotes and escapes. */
function unquoteName(token: string): string {
  return Object.keys(JSON5.parse<object>(`{${token}:0}`))[0] ?? token;
}

export const SETTING_SOURCES = ['default', 'file', 'environment', 'command line'] as const;

export interface Setting {
  path: string;
  /** As it may be shown: a `ShownSecret` for a secret; null when it is not set and has no default. */
  value: unknown;
  isSecret: boolean;
  source: (typeof SETTING_SOURCES)[number];
  /** The file with the line (`/etc/holdfast.json:12`), the variable or the option; null for a default. */
  at: string | null;
}

/** Settings that another key of the file decides when neither the environment nor their own key does; the first that is given. */
const FILE_PATHS: readonly (readonly [own: RegExp, file: string])[] = [
  [/^runtime\.anthropicApiKey$/, 'models.providers.anthropic.apiKey'],
  [/^runtime\.anthropicBaseUrl$/, 'models.providers.anthropic.baseUrl'],
  [/^runtime\.concurrency\./, 'lanes.'],
  [/^owner\.ids$/, 'owner.phone'],
  [/(?<=\.llm\.)cronIdleTimeoutSeconds$/, 'idleTimeoutSeconds'],
  [/^plugins\.modules$/, 'plugins[0]'],
  // A short form, or a default within an item.
  [/(?<=\])\.[^[]*$/, ''],
];

const RUNTIME: Readonly<Record<string, z.ZodType>> = environmentSchema.shape;

/** The map of platforms, when it is empty: the file has no such key. */
const NO_PLATFORMS = 'channels.platforms';

interface SettingsInput {
  config: Config;
  file: Pick<LoadedFile, 'path' | 'text'>;
  env: Environment;
  /** Removed from every text that repeats them. */
  secrets: readonly string[];
}

/** All settings, in the order of the configuration; also those without a value. Lists of plain values are one setting each. */
export function listSettings({ config, file, env, secrets }: SettingsInput): Setting[] {
  const lineOf = lineFinder(file.text);
  const redact = createRedact(secrets);
  const leaves = listSettingLeaves(config);
  return leaves.map(([ownPath, value]) => {
    const path = inFile(ownPath);
    const isHidden = isSecret(path, value);
    const shown = isHidden ? shownSecret(value) : shownValue(path, value, redact);
    const base = { path, value: shown, isSecret: isHidden };
    const variable = findVariable(path, env);
    if (variable !== undefined) {
      return { ...base, source: 'environment', at: findFileVariable(variable, env) ?? variable };
    }
    const others = FILE_PATHS.filter(([own]) => own.test(path)).map(([own, other]) => path.replace(own, other));
    const line = [path, ...others].map(lineOf).find((found) => found !== undefined);
    if (line === undefined) return { ...base, source: 'default', at: null };
    return { ...base, source: 'file', at: `${file.path}:${line}` };
  });
}

/** Every setting by its path as it is, with its secrets: to compare two configurations, never to show one. */
export function mapRawSettings(config: Config): Map<string, unknown> {
  return new Map(listSettingLeaves(config).map(([path, value]) => [inFile(path), value]));
}

function listSettingLeaves(config: Config): [path: string, value: unknown][] {
  return listLeaves(withAbsentKeys(config), '').filter(([path]) => path !== NO_PLATFORMS);
}

/** In the file, platforms are siblings of `webhook`. */
function inFile(path: string): string {
  return path.replace(/^channels\.platforms(?=\.)/, 'channels');
}

function findVariable(path: string, env: Environment): string | undefined {
  const decidedBy = PROVIDER_VARIABLES.get(path) ?? SEARCH_VARIABLES.get(path);
  const [room, setting = '', part = ''] = (decidedBy === undefined ? path : `runtime.${decidedBy}`).split('.');
  const schema = room === 'runtime' ? RUNTIME[setting] : undefined;
  const saidBy = (name: string): string => env[findFileVariable(name, env) ?? name]?.trim() ?? '';
  const variable = schema && listVariables(schema).find((name) => saidBy(name) !== '');
  if (variable === undefined) return undefined;
  const text = saidBy(variable);
  // A list such as `main=8` says nothing about the other lanes.
  const isSaid = !text.includes('=') || part === '' || text.includes(`${part}=`);
  return isSaid ? variable : undefined;
}

/** Finds the line of a key, also of one whose name the file writes in snake_case; undefined: the file does not have it. */
function lineFinder(text: string): (path: string) => number | undefined {
  const lines = fileLines(text);
  const renamed = new Map([...lines].map(([path, line]) => [camelCase(path), line]));
  return (path) => lines.get(path) ?? renamed.get(camelCase(path));
}

/** A copy of the configuration in which every key that has no value is null. */
function withAbsentKeys(config: Config): Record<string, unknown> {
  const tree = structuredClone(config) as unknown as Record<string, unknown>;
  for (const { path, isSection } of [...schemasBelow(environmentSchema, 'runtime'), ...schemasBelow(fileSchema, '')]) {
    const steps = path.split('.');
    let at = tree;
    for (const step of steps.slice(0, -1)) at = (at[step] ??= {}) as Record<string, unknown>;
    // The short form of an object, such as the target of a heartbeat, has no keys.
    if (!isSection && typeof at === 'object') at[steps.at(-1) ?? ''] ??= null;
  }
  return tree;
}

function listLeaves(value: unknown, path: string): [path: string, value: unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  if (Array.isArray(value)) {
    const hasParts = value.some((each) => typeof each === 'object' && each !== null);
    return hasParts ? value.flatMap((each, at) => listLeaves(each, `${path}[${at}]`)) : [[path, value]];
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return [[path, value]];
  return entries.flatMap(([key, child]) => listLeaves(child, path === '' ? key : `${path}.${key}`));
}
