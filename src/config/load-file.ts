// Reads the configuration file: text to checked input, with aliases resolved and every fault listed. Nothing of a faulty file is used.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import JSON5 from 'json5';
import type { z } from 'zod';
import { decodeText, NOT_TEXT } from '../core/text-bytes.ts';
import { closestOf } from './closest.ts';
import { type ConfigIssue, describeValue } from './config-error.ts';
import { fileSchema, type FileInput } from './schema.ts';
import { unwrapSchema } from './unwrap-schema.ts';

const FILE_BYTES_MAX = 1_048_576;
/** Deeper than any setting. */
const DEPTH_MAX = 64;

export interface LoadedFile {
  /** Absolute; null when there is no file. */
  path: string | null;
  /** Relative paths in the file start here. */
  baseDir: string;
  input: FileInput;
  /** As it was read; empty when there is no file. */
  text: string;
  issues: ConfigIssue[];
}

/** Reads and checks the file at `configured` (from HOLDFAST_CONFIG), or `holdfast.json` in `cwd` if there is one. */
export function loadFile(configured: string | undefined, cwd: string): LoadedFile {
  const path = resolve(cwd, configured ?? 'holdfast.json');
  const nothing = { path: null, baseDir: cwd, input: {}, text: '', issues: [] };
  if (configured === undefined && !existsSync(path)) return nothing;
  const source = configured === undefined ? path : 'HOLDFAST_CONFIG';
  const read = readJson5(path, source);
  if ('issue' in read) return { ...nothing, path, issues: [read.issue] };
  return { path, baseDir: dirname(path), text: read.text, ...checkFile(read.value) };
}

/** Checks a parsed file. */
function checkFile(value: unknown): { input: FileInput; issues: ConfigIssue[] } {
  const aliasIssues: ConfigIssue[] = [];
  const renamed = resolveAliases(value, fileSchema, [], aliasIssues);
  const result = fileSchema.safeParse(renamed, { reportInput: true });
  if (result.success) return { input: result.data, issues: aliasIssues };
  const issues = [...aliasIssues, ...result.error.issues.flatMap((issue) => issuesOf(issue))];
  // The rest without the faulty values is still checked, so that faults between values are in the same report.
  const rest = fileSchema.safeParse(withoutFaults(renamed, result.error.issues));
  return { input: rest.success ? rest.data : {}, issues };
}

/** A copy of the value without the keys that the issues are about. */
function withoutFaults(value: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy: unknown = structuredClone(value);
  for (const issue of issues) {
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : [issue.path.at(-1)];
    const parentPath = issue.code === 'unrecognized_keys' ? issue.path : issue.path.slice(0, -1);
    const parent = parentPath.reduce<unknown>((at, step) => (isObject(at) ? at[String(step)] : undefined), copy);
    for (const key of keys) if (isObject(parent) && key !== undefined) delete parent[String(key)];
  }
  return copy;
}

function readJson5(path: string, source: string): { value: unknown; text: string } | { issue: ConfigIssue } {
  const fault = (message: string) => ({ issue: { path: source, value: path, allowed: 'a JSON5 file', message } });
  try {
    if (statSync(path).size > FILE_BYTES_MAX) return fault(`${path} is larger than ${FILE_BYTES_MAX} bytes`);
    const text = decodeText(readFileSync(path));
    if (text === null) return fault(`${path} ${NOT_TEXT}; save it in UTF-8`);
    const value: unknown = JSON5.parse(text);
    if (depthOf(value) > DEPTH_MAX) return fault(`${path} is nested deeper than ${DEPTH_MAX} levels`);
    return { value, text };
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON5: /, '') : String(error);
    return fault(error instanceof SyntaxError ? `${path} is not JSON5: ${reason}` : `cannot read ${path}: ${reason}`);
  }
}

/** How many objects and lists lie within each other; counted without recursion, whose depth is limited. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let level = [value].filter(isObject); level.length > 0 && depth <= DEPTH_MAX; depth += 1) {
    level = level.flatMap((each) => Object.values(each)).filter(isObject);
  }
  return depth;
}

/** Renames keys written in snake_case to the camelCase key of the schema, where there is one; values of records keep theirs. */
function resolveAliases(value: unknown, schema: z.ZodType, path: string[], issues: ConfigIssue[]): unknown {
  const inner = unwrapSchema(schema);
  if (Array.isArray(value) && inner.def.type === 'array') {
    const element = (inner as z.ZodArray<z.ZodType>).element;
    return value.map((each, at) => resolveAliases(each, element, [...path, String(at)], issues));
  }
  if (!isObject(value) || Array.isArray(value) || inner.def.type !== 'object') return value;
  const { shape } = inner as z.ZodObject;
  const { catchall } = inner.def as z.ZodObject['def'];
  const renamed: [string, unknown][] = Object.entries(value).map(([key, child]) => {
    const name = Object.hasOwn(shape, key) ? key : camelCase(key);
    if (!Object.hasOwn(shape, name)) {
      const other = catchall as z.ZodType | undefined;
      return [key, other === undefined ? child : resolveAliases(child, other, [...path, key], issues)];
    }
    if (name !== key && Object.hasOwn(value, name)) {
      const message = `is given twice, as ${JSON.stringify(key)} and as ${JSON.stringify(name)}`;
      issues.push({ path: [...path, name].join('.'), value: undefined, allowed: 'one of the two', message });
    }
    return [name, resolveAliases(child, shape[name] as z.ZodType, [...path, name], issues)];
  });
  return Object.fromEntries(renamed);
}

/** One issue of ours for each fault that zod names; unknown keys become one each, with a suggestion. */
function issuesOf(issue: z.core.$ZodIssue): ConfigIssue[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKeyIssue(issue.path, key));
  const path = pathText(issue.path);
  const allowed = allowedOf(issue);
  const value = describeValue(path, issue.input);
  return [
    { path: path === '' ? '(file)' : path, value: issue.input, allowed, message: `is ${value}; allowed: ${allowed}` },
  ];
}

function unknownKeyIssue(path: PropertyKey[], key: string): ConfigIssue {
  const parent = schemaAt(path);
  const known = parent?.def.type === 'object' ? Object.keys((parent as z.ZodObject).shape) : [];
  const close = closestOf(key, known);
  const hint = close === undefined ? ` (known here: ${known.join(', ')})` : `; did you mean ${JSON.stringify(close)}?`;
  const allowed = known.join(', ');
  return {
    path: pathText([...path, key]),
    value: undefined,
    allowed,
    message: `is not a known key${hint}`,
  };
}

/** The allowed values, as text, from the fault that zod found. */
function allowedOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return (
        { int: 'a whole number', object: 'an object', array: 'a list', record: 'an object' }[
          issue.expected as string
        ] ?? `a ${issue.expected}`
      );
    case 'invalid_value':
      return issue.values.map((value) => JSON.stringify(value)).join(', ');
    case 'too_small':
      return `at least ${issue.minimum}${unitOf(issue.origin, Number(issue.minimum))}`;
    case 'too_big':
      return `at most ${issue.maximum}${unitOf(issue.origin, Number(issue.maximum))}`;
    case 'invalid_union':
      return unionText(issue.errors);
    case 'invalid_key':
      return issue.issues.map(allowedOf).join(', ');
    case 'unrecognized_keys':
      return `no key ${issue.keys.join(', ')}`;
    case 'invalid_element':
    case 'invalid_format':
    case 'not_multiple_of':
    case 'custom':
      return issue.message;
  }
}

/** Of a union's branches, those that the value came furthest in speak: the others only say that it is of another type. */
function unionText(branches: z.core.$ZodIssue[][]): string {
  const speaking = branches.filter((branch) =>
    branch.every((issue) => issue.code !== 'invalid_type' || issue.path.length > 0),
  );
  const texts = (speaking.length > 0 ? speaking : branches).map((branch) => branch.map(branchText).join(' and '));
  return [...new Set(texts)].join(', or ');
}

function branchText(issue: z.core.$ZodIssue): string {
  const where = issue.path.length > 0 ? `${pathText(issue.path)}: ` : '';
  return `${where}${allowedOf(issue)}`;
}

function unitOf(origin: string, amount: number): string {
  if (origin === 'string') return amount === 1 ? ' character' : ' characters';
  if (origin === 'array') return amount === 1 ? ' item' : ' items';
  return '';
}

function schemaAt(path: readonly PropertyKey[]): z.ZodType | undefined {
  let at: z.ZodType | undefined = fileSchema;
  for (const step of path) {
    const inner: z.ZodType | undefined = at === undefined ? undefined : unwrapSchema(at);
    if (inner?.def.type === 'object') {
      const object = inner as z.ZodObject;
      at = (object.shape[String(step)] ?? object.def.catchall) as z.ZodType | undefined;
    } else if (inner?.def.type === 'record') at = (inner as z.ZodRecord).valueType as z.ZodType;
    else if (inner?.def.type === 'array') at = (inner as z.ZodArray<z.ZodType>).element;
    else return undefined;
  }
  return at === undefined ? undefined : unwrapSchema(at);
}

function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : String(step)))
    .join('.')
    .replaceAll('.[', '[');
}

function camelCase(key: string): string {
  return key.replaceAll(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
