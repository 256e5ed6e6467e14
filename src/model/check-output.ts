// Checks the text of an answer against the schema that its message has named. A validator is kept as
// long as its schema is (making one takes 0.4 ms and more), so that a process keeps no schema of a
// client longer than it uses it. Ajv is loaded with the first check.
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import { isObject } from '../core/json.ts';
import type { ResponseFormat } from '../core/response-format.ts';
import { cutHead } from '../core/text.ts';
import { repairArguments } from './repair-arguments.ts';

/**
 * `fits`: the JSON text, without what a model has put around it. `unfit`: what is wrong, in words.
 */
export type CheckedOutput = { kind: 'fits'; text: string } | { kind: 'unfit'; faults: string[] };

const FAULTS_MAX = 10;
const VALUE_CHARS_MAX = 200;
/**
 * All faults are listed as long as the characters of the text times those of the schema are no
 * more.
 */
const ALL_FAULTS_SIZE_MAX = 10_000_000;

export async function checkOutput(said: string, { schema }: ResponseFormat): Promise<CheckedOutput> {
  const found = findJson(said);
  if (found === null)
    return { kind: 'unfit', faults: [said.trim() === '' ? 'it is empty' : 'it is not a JSON object'] };
  const faults = (await loadFaultFinder())(found.value, schema, found.text.length);
  return faults.length === 0 ? { kind: 'fits', text: found.text } : { kind: 'unfit', faults };
}

/**
 * Says what keeps a value from fitting a schema, in words; nothing: it fits. `chars`: the length of
 * its text.
 */
export type FaultFinder = (value: unknown, schema: Record<string, unknown>, chars: number) => string[];

/** By schemas: validators that list all faults, and those that stop at the first. */
const validators = { all: new WeakMap<object, ValidateFunction>(), first: new WeakMap<object, ValidateFunction>() };

/** Loads what checks values; `findSchemaFault` has found no fault in their schemas. */
export async function loadFaultFinder(): Promise<FaultFinder> {
  const { Ajv: Validator } = await import('ajv');
  return (value, schema, chars) => {
    // A long text can have millions of faults: then the first is enough.
    const allErrors = chars * JSON.stringify(schema).length <= ALL_FAULTS_SIZE_MAX;
    const made = validators[allErrors ? 'all' : 'first'];
    const fits = made.get(schema) ?? compile(Validator, schema, allErrors);
    made.set(schema, fits);
    return fits(value) ? [] : (fits.errors ?? []).slice(0, FAULTS_MAX).map(toWords);
  };
}

function compile(Validator: typeof Ajv, schema: Record<string, unknown>, allErrors: boolean): ValidateFunction {
  const ajv = new Validator({
    allErrors,
    strict: false,
    // 19.99 is a multiple of 0.01, though not in binary fractions.
    multipleOfPrecision: 9,
    logger: false,
    ownProperties: true,
    validateSchema: false,
  });
  // A pattern of a client could run for ever on a text of a model.
  ajv.removeKeyword('pattern');
  ajv.removeKeyword('format');
  const { $schema: _dialect, ...rules } = schema;
  return ajv.compile(rules);
}

/** The object that a text is, or that it has a fence around or a sentence before. */
function findJson(said: string): { text: string; value: Record<string, unknown> } | null {
  const text = said.trim();
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? { text, value } : null;
  } catch {
    const value = repairArguments(text);
    return value === null ? null : { text: JSON.stringify(value), value };
  }
}

function toWords({ instancePath, keyword, message = keyword, params }: ErrorObject): string {
  const { allowedValues, allowedValue, additionalProperty } = params as Record<string, unknown>;
  const named = allowedValues ?? allowedValue ?? additionalProperty;
  const value = named === undefined ? '' : `: ${cutHead(JSON.stringify(named), VALUE_CHARS_MAX)}`;
  return cutHead(`${instancePath === '' ? 'it' : instancePath} ${message}${value}`, 2 * VALUE_CHARS_MAX);
}
