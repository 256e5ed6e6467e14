// Every setting by its path, with what decides it: what `holdfast config show` prints and
// `GET /v1/config` answers. Secrets are not in it, only their fingerprints (G31).
import type { z } from 'zod';
import { type Environment, findFileVariable } from './process-environment.ts';
import type { LoadedFile, WrittenPlace } from './load-file.ts';
import { createRedact, isSecret, shownSecret, shownValue } from './secrets.ts';
import { PROVIDER_VARIABLES, SEARCH_VARIABLES } from './providers.ts';
import { environmentSchema, listVariables } from './schema-environment.ts';
import { fileSchema, type Config } from './schema.ts';
import { camelCase, schemasBelow } from './check-input.ts';

export const SETTING_SOURCES = ['default', 'file', 'environment', 'command line'] as const;

export interface Setting {
  path: string;
  /**
   * As it may be shown: a `ShownSecret` for a secret; null when it is not set and has no default.
   */
  value: unknown;
  isSecret: boolean;
  source: (typeof SETTING_SOURCES)[number];
  /**
   * The file with the line (`/etc/holdfast.json:12`), the variable or the option; null for a
   * default.
   */
  at: string | null;
}

/**
 * Settings that another key of the file decides when neither the environment nor their own key
 * does; the first that is given.
 */
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
  file: Pick<LoadedFile, 'path' | 'places'>;
  env: Environment;
  /** Removed from every text that repeats them. */
  secrets: readonly string[];
}

/**
 * All settings, in the order of the configuration; also those without a value. Lists of plain
 * values are one setting each.
 */
export function listSettings({ config, file, env, secrets }: SettingsInput): Setting[] {
  const lineOf = lineFinder(file.places);
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

/**
 * Every setting by its path as it is, with its secrets: to compare two configurations, never to
 * show one.
 */
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

/**
 * Finds the line of a key, also of one whose name the file writes in snake_case; undefined: the
 * file does not have it.
 */
function lineFinder(places: ReadonlyMap<string, WrittenPlace>): (path: string) => number | undefined {
  const renamed = new Map([...places].map(([path, place]) => [camelCase(path), place]));
  return (path) => (places.get(path) ?? renamed.get(camelCase(path)))?.line;
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
