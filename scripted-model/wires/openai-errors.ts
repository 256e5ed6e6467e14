// What Chat Completions and Responses have in common: the form and the words of errors, and the
// checks of fields, tools and schemas.
import { ProviderError, retryHeaders } from '../provider-error.ts';
import { schemaFaultOf } from '../schema-fault.ts';
import { isRecord } from '../wire.ts';
import type { ModelWire } from './model-wire.ts';

const MESSAGES: ReadonlyMap<number, string> = new Map([
  [
    401,
    'Incorrect API key provided: scripted. You can find your API key at https://platform.openai.com/account/api-keys.',
  ],
  [403, 'You are not allowed to sample from this model'],
  [500, 'The server had an error while processing your request. Sorry about that!'],
  [503, 'The server is currently overloaded with other requests. Sorry about that! Please try again later.'],
]);
const CODES: ReadonlyMap<number, string> = new Map([
  [401, 'invalid_api_key'],
  [404, 'model_not_found'],
  [429, 'rate_limit_exceeded'],
]);
const TOOL_NAME = /^[a-zA-Z0-9_-]+$/;
const TOOL_NAME_CHARS_MAX = 64;
const ROOT_KEYWORDS = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'];

/** The errors of both wires. */
export const OPENAI_ERRORS: Pick<ModelWire, 'messageOf' | 'errorHeaders' | 'errorBody'> = {
  messageOf: ({ status, errorCode, retryAfter }, model) => {
    if (errorCode === 'insufficient_quota') {
      return 'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.';
    }
    if (status === 404) return `The model \`${model}\` does not exist or you do not have access to it.`;
    if (status !== 429) return MESSAGES.get(status) ?? `Error ${status}`;
    const limit = `Rate limit reached for ${model} in organization org-scripted on tokens per min (TPM): Limit 30000, Used 29900, Requested 1100.`;
    return `${limit} Please try again in ${retryAfter ?? 2}s. Visit https://platform.openai.com/account/rate-limits to learn more.`;
  },
  errorHeaders: retryHeaders,
  errorBody: (error) => JSON.stringify({ error: errorFields(error) }),
};

/** The fields of an error. */
export function errorFields(error: ProviderError): Record<string, unknown> {
  const code = error.errorCode ?? (error.param === null ? CODES.get(error.status) : null) ?? null;
  return { message: error.message, type: error.type ?? typeOf(error.status, code), param: error.param, code };
}

function typeOf(status: number, code: string | null): string {
  if (code === 'insufficient_quota') return code;
  if (status === 429) return 'tokens';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

/** A refusal of the request itself. */
export function refused(message: string, param: string | null, errorCode: string | null = null): ProviderError {
  return new ProviderError({ status: 400, message, param, errorCode });
}

/** A value that its field cannot have. */
export function invalid(at: string, why: string, errorCode = 'invalid_value'): ProviderError {
  return refused(`Invalid '${at}'${why}`, at, errorCode);
}

export function missing(param: string): ProviderError {
  return refused(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter');
}

/** A value that is none of a list. */
export function unsupported(value: unknown, values: readonly string[], param: string): ProviderError {
  const quoted = values.map((name) => `'${name}'`);
  const list = `${quoted.slice(0, -1).join(', ')}${quoted.length > 2 ? ',' : ''} and ${quoted.at(-1)}`;
  return refused(`Invalid value: '${String(value)}'. Supported values are: ${list}.`, param, 'invalid_value');
}

export function checkFields(record: Record<string, unknown>, known: ReadonlySet<string>, at: string): void {
  for (const field of Object.keys(record)) {
    if (known.has(field)) continue;
    const param = at === '' ? field : `${at}.${field}`;
    throw refused(`Unknown parameter: '${param}'.`, param, 'unknown_parameter');
  }
}

export function asRecord(value: unknown, at: string): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw wrongType(value, 'an object', at);
}

/** A list with something in it. */
export function asList(value: unknown, at: string): unknown[] {
  if (value === undefined) throw missing(at);
  if (!Array.isArray(value)) throw wrongType(value, 'an array', at);
  if (value.length > 0) return value as unknown[];
  const why = ': empty array. Expected an array with minimum length 1, but got an empty array instead.';
  throw invalid(at, why, 'empty_array');
}

export function asText(value: unknown, at: string, charsMax = Number.POSITIVE_INFINITY): string {
  if (value === undefined) throw missing(at);
  if (typeof value !== 'string') throw wrongType(value, 'a string', at);
  if (value.length <= charsMax) return value;
  const why = `: string too long. Expected a string with maximum length ${charsMax}, but got a string with length ${value.length} instead.`;
  throw invalid(at, why, 'string_above_max_length');
}

function wrongType(value: unknown, expected: string, at: string): ProviderError {
  const type = Array.isArray(value) ? 'array' : typeof value;
  const kind = value === null ? 'null' : `${/^[ao]/.test(type) ? 'an' : 'a'} ${type}`;
  return refused(`Invalid type for '${at}': expected ${expected}, but got ${kind} instead.`, at, 'invalid_type');
}

/** The name of a function, in a definition or a call. */
export function asName(value: unknown, at: string): string {
  const name = asText(value, at, TOOL_NAME_CHARS_MAX);
  if (TOOL_NAME.test(name)) return name;
  throw invalid(
    at,
    `: string does not match pattern. Expected a string that matches the pattern '${TOOL_NAME.source}'.`,
  );
}

/** Checks the definition of a function; `at` is that of its fields. */
export function checkFunction(definition: Record<string, unknown>, at: string): void {
  const name = asName(definition['name'], `${at}.name`);
  const { parameters } = definition;
  if (parameters === undefined || parameters === null) return;
  const refuse = (why: string) =>
    refused(`Invalid schema for function '${name}': ${why}`, `${at}.parameters`, 'invalid_function_parameters');
  if (!isRecord(parameters) || parameters['type'] !== 'object') {
    const type = isRecord(parameters) ? parameters['type'] : undefined;
    throw refuse(
      `schema must be a JSON Schema of 'type: "object"', got 'type: "${typeof type === 'string' ? type : 'None'}"'.`,
    );
  }
  if (ROOT_KEYWORDS.some((keyword) => keyword in parameters)) {
    throw refuse("schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.");
  }
  const fault = schemaFaultOf(parameters) ?? schemaFault(parameters, [], definition['strict'] === true);
  if (fault !== null) throw refuse(fault);
  if (parameters['properties'] === undefined) throw refuse('In context=(), object schema missing properties.');
}

/**
 * The schema that the format of an answer asks for; `inner` is the field with its name and schema,
 * if they have one.
 */
export function schemaOf(value: unknown, at: string, inner?: string): { outputSchema?: Record<string, unknown> } {
  const format = asRecord(value, at);
  switch (format['type']) {
    case 'text':
      return {};
    case 'json_object':
      return { outputSchema: { type: 'object' } };
    case 'json_schema': {
      const place = inner === undefined ? at : `${at}.${inner}`;
      return { outputSchema: answerSchema(inner === undefined ? format : asRecord(format[inner], place), place) };
    }
    default:
      throw unsupported(format['type'], ['json_object', 'json_schema', 'text'], `${at}.type`);
  }
}

/** `at` is that of its fields. */
function answerSchema(format: Record<string, unknown>, at: string): Record<string, unknown> {
  const name = asName(format['name'], `${at}.name`);
  const schema = asRecord(format['schema'] ?? { type: 'object' }, `${at}.schema`);
  const fault = schemaFault(schema, [], format['strict'] === true);
  if (fault === null) return schema;
  throw refused(`Invalid schema for response_format '${name}': ${fault}`, at, 'invalid_json_schema');
}

/**
 * What is wrong with a schema: lists name their items, and a strict object names all of its fields
 * as required.
 */
function schemaFault(schema: unknown, path: readonly string[], isStrict: boolean): string | null {
  if (!isRecord(schema)) return null;
  const context = () => `In context=(${path.map((name) => `'${name}'`).join(', ')}${path.length === 1 ? ',' : ''})`;
  if (schema['type'] === 'array' && schema['items'] === undefined) return `${context()}, array schema missing items.`;
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  if (isStrict && schema['type'] === 'object') {
    if (schema['additionalProperties'] !== false)
      return `${context()}, 'additionalProperties' is required to be supplied and to be false.`;
    const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
    const left = Object.keys(properties).find((name) => !required.includes(name));
    if (left !== undefined)
      return `${context()}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`;
  }
  for (const [name, inner] of Object.entries(properties)) {
    const fault = schemaFault(inner, [...path, 'properties', name], isStrict);
    if (fault !== null) return fault;
  }
  return schemaFault(schema['items'], [...path, 'items'], isStrict);
}

/** The address of an image: one of the web, or its bytes. */
export function checkImageUrl(value: unknown, at: string): string {
  const url = asText(value, at);
  if (/^(?:https?:\/\/|data:image\/[a-z+.-]+;base64,[A-Za-z0-9+/=]+$)/.test(url)) return url;
  const example = 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU=';
  const why = `. Expected a base64-encoded data URL with an image MIME type (e.g. '${example}'), but got unsupported MIME type or invalid data.`;
  throw invalid(at, why);
}
