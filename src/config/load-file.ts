// Reads the configuration file: text to checked input, with aliases resolved and every fault listed. Nothing of a faulty file is used.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import JSON5 from 'json5';
import { z } from 'zod';
import { decodeText, NOT_TEXT } from '../core/text.ts';
import { checked, isObject } from './check-input.ts';
import type { ConfigIssue } from './config-error.ts';
import { fileSchema, type FileSettings } from './schema.ts';
import { camelCase, schemaBelow, unwrapSchema } from './walk-schema.ts';

const FILE_BYTES_MAX = 1_048_576;
/** Deeper than any setting. */
const DEPTH_MAX = 64;

export interface LoadedFile {
  /** Absolute; null when there is no file. */
  path: string | null;
  /** Relative paths in the file start here. */
  baseDir: string;
  /** Complete; without the faulty values. */
  settings: FileSettings;
  /** As it was read; empty when there is no file. */
  text: string;
  issues: ConfigIssue[];
}

/** Reads and checks the file at `configured` (from HOLDFAST_CONFIG), or `holdfast.json` in `cwd` if there is one. */
export function loadFile(configured: string | undefined, cwd: string): LoadedFile {
  const path = resolve(cwd, configured ?? 'holdfast.json');
  const nothing = { path: null, baseDir: cwd, settings: checked(fileSchema, {}).output, text: '', issues: [] };
  if (configured === undefined && !existsSync(path)) return nothing;
  const source = configured === undefined ? path : 'HOLDFAST_CONFIG';
  const read = readJson5(path, source);
  if ('issue' in read) return { ...nothing, path, issues: [read.issue] };
  return { path, baseDir: dirname(path), text: read.text, ...checkFile(read.value) };
}

/** Checks a parsed file. */
function checkFile(value: unknown): { settings: FileSettings; issues: ConfigIssue[] } {
  const aliasIssues: ConfigIssue[] = [];
  const renamed = resolveAliases(value, fileSchema, [], aliasIssues);
  const { output, issues } = checked(fileSchema, renamed);
  return { settings: output, issues: [...aliasIssues, ...issues] };
}

function readJson5(path: string, source: string): { value: unknown; text: string } | { issue: ConfigIssue } {
  const fault = (message: string) => ({ issue: { path: source, value: path, allowed: 'a JSON5 file', message } });
  try {
    if (statSync(path).size > FILE_BYTES_MAX) return fault(`${path} is larger than ${FILE_BYTES_MAX} bytes`);
    const text = decodeText(readFileSync(path));
    if (text === null) return fault(`${path} ${NOT_TEXT}; save it in UTF-8`);
    const value: unknown = JSON5.parse(text);
    if (measureDepth(value) > DEPTH_MAX) return fault(`${path} is nested deeper than ${DEPTH_MAX} levels`);
    return { value, text };
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON5: /, '') : String(error);
    return fault(error instanceof SyntaxError ? `${path} is not JSON5: ${reason}` : `cannot read ${path}: ${reason}`);
  }
}

/** How many objects and lists lie within each other; counted without recursion, whose depth is limited. */
function measureDepth(value: unknown): number {
  let depth = 0;
  for (let level = [value].filter(isObject); level.length > 0 && depth <= DEPTH_MAX; depth += 1) {
    level = level.flatMap((each) => Object.values(each)).filter(isObject);
  }
  return depth;
}

/** Renames keys written in snake_case to the camelCase key of the schema, where there is one; values of records keep theirs. */
function resolveAliases(value: unknown, schema: z.ZodType, path: string[], issues: ConfigIssue[]): unknown {
  const inner = unwrapSchema(schema);
  const resolved = (child: unknown, step: string): unknown => {
    const below = schemaBelow(inner, step);
    return below === undefined ? child : resolveAliases(child, below, [...path, step], issues);
  };
  if (Array.isArray(value) && inner instanceof z.ZodArray) return value.map((each, at) => resolved(each, String(at)));
  if (!isObject(value) || Array.isArray(value) || !(inner instanceof z.ZodObject)) return value;
  const { shape } = inner;
  const entries = Object.entries(value).map(([key, child]) => {
    const name = !Object.hasOwn(shape, key) && Object.hasOwn(shape, camelCase(key)) ? camelCase(key) : key;
    if (name !== key && Object.hasOwn(value, name)) {
      const message = `is given twice, as ${JSON.stringify(key)} and as ${JSON.stringify(name)}`;
      issues.push({ path: [...path, name].join('.'), value: undefined, allowed: 'one of the two', message });
    }
    return [name, resolved(child, name)];
  });
  return Object.fromEntries(entries);
}
