// Lines of the batch files of Anthropic and OpenAI, as items. Only what an item can say is
// accepted: one message of the user, a model, and instructions before it.
import type { CallerRequest } from '../../../core/input-options.ts';
import { given, isKeptInteger } from '../../../core/json.ts';

/** A line that cannot be an item; the path is within the line. */
export class ForeignLineError extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.name = 'ForeignLineError';
    this.path = path;
  }
}

export const LINE_FORMATS = ['holdfast', 'anthropic', 'openai'] as const;
export type LineFormat = (typeof LINE_FORMATS)[number];

type Json = Readonly<Record<string, unknown>>;

/**
 * An item before it is checked, and what only a line of another format can say: instructions before
 * its message, and settings of the call.
 */
export interface MappedLine {
  item: Json;
  system: string | null;
  caller: CallerRequest | null;
}

/** The item of a line; one in Holdfast's own format is the item itself. */
export function mapLine(line: Json, expected: LineFormat | null = null): MappedLine {
  const format = detectFormat(line);
  if (expected !== null && format !== expected) {
    throw new ForeignLineError('', `expected a line in the format ${expected}, got one in the format ${format}`);
  }
  return format === 'holdfast' ? { item: line, system: null, caller: null } : fromForeign(line, FOREIGN[format]);
}

function detectFormat(line: Json): LineFormat {
  if ('params' in line) return 'anthropic';
  return 'method' in line || 'url' in line || ('custom_id' in line && 'body' in line) ? 'openai' : 'holdfast';
}

interface ForeignFormat {
  /** The field with the request. */
  at: string;
  fields: ReadonlySet<string>;
  requestFields: ReadonlySet<string>;
  /** Of models that are named without one; null: the line can name an agent as well. */
  provider: string | null;
}

const CHAT_URL = '/v1/chat/completions';
const SETTINGS = ['model', 'messages', 'max_tokens', 'metadata', 'stream'];
const FOREIGN: Readonly<Record<Exclude<LineFormat, 'holdfast'>, ForeignFormat>> = {
  anthropic: {
    at: 'params',
    fields: new Set(['custom_id', 'params']),
    requestFields: new Set([...SETTINGS, 'system']),
    provider: 'anthropic',
  },
  openai: {
    at: 'body',
    fields: new Set(['custom_id', 'method', 'url', 'body']),
    requestFields: new Set([...SETTINGS, 'max_completion_tokens', 'response_format', 'user']),
    provider: null,
  },
};

function fromForeign(line: Json, { at, fields, requestFields, provider }: ForeignFormat): MappedLine {
  refuseOthers(line, fields, '');
  if (at === 'body') {
    if (line['method'] !== undefined && line['method'] !== 'POST')
      throw new ForeignLineError('method', 'expected "POST"');
    if (line['url'] !== CHAT_URL) throw new ForeignLineError('url', `expected "${CHAT_URL}"`);
  }
  const request = objectAt(line[at], at);
  refuseOthers(request, requestFields, `${at}.`);
  const path = `${at}.messages`;
  const isSystem = (message: unknown): boolean =>
    at === 'body' && ['system', 'developer'].includes(String(objectAt(message, path)['role']));
  const all = arrayAt(request['messages'], path);
  const systems = all.filter(isSystem).map((message) => readText(objectAt(message, path)['content'], path));
  if (request['system'] !== undefined) systems.push(readText(request['system'], `${at}.system`));
  const messages = all.filter((message) => !isSystem(message));
  if (messages.length !== 1)
    throw new ForeignLineError(path, `expected one message with the role user, got ${messages.length}`);
  const message = objectAt(messages[0], `${path}[0]`);
  if (message['role'] !== 'user') throw new ForeignLineError(`${path}[0].role`, 'expected "user"');
  const item = {
    text: readText(message['content'], `${path}[0].content`),
    ...(line['custom_id'] === undefined ? {} : { customId: line['custom_id'] }),
    ...chosenBy(request['model'], provider),
    ...readFormat(request['response_format'] ?? null, `${at}.response_format`),
  };
  return { item, system: systems.length === 0 ? null : systems.join('\n\n'), caller: readCaller(request, at) };
}

/** The form of the answer, as an item has it; its schema is checked with the item. */
function readFormat(value: unknown, path: string): Json {
  if (value === null) return {};
  const { type, json_schema: inner } = objectAt(value, path);
  if (type === 'text') return {};
  if (type === 'json_object') return { responseFormat: { type: 'json_schema', schema: { type: 'object' } } };
  if (type !== 'json_schema') throw new ForeignLineError(`${path}.type`, 'expected text, json_object or json_schema');
  const { name, schema } = objectAt(inner, `${path}.json_schema`);
  return { responseFormat: { type, schema, ...given({ name }) } };
}

const TOKENS_MAX = 1_000_000;

/**
 * The settings of the call, which apply as in a request of an OpenAI client; null: there are none.
 */
function readCaller(settings: Json, prefix: string): CallerRequest | null {
  if ((settings['stream'] ?? false) !== false)
    throw new ForeignLineError(`${prefix}.stream`, 'expected false: the results of a batch are not streamed');
  const name = (settings['max_completion_tokens'] ?? null) === null ? 'max_tokens' : 'max_completion_tokens';
  const maxTokens = settings[name] ?? null;
  if (maxTokens !== null && !isTokens(maxTokens))
    throw new ForeignLineError(`${prefix}.${name}`, `expected an integer from 1 to ${TOKENS_MAX}`);
  const asked = Object.fromEntries(
    ['metadata', 'user'].flatMap((key) => ((settings[key] ?? null) === null ? [] : [[key, settings[key]]])),
  );
  if (maxTokens === null && Object.keys(asked).length === 0) return null;
  return { ...(maxTokens === null ? {} : { maxTokens }), ...(Object.keys(asked).length === 0 ? {} : { asked }) };
}

function isTokens(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= TOKENS_MAX;
}

const AGENT = /^(?:holdfast|agent):(.+)$/;

/**
 * The agent or the model that a line names; `holdfast` stands for the agent of the batch, with its
 * own model.
 */
function chosenBy(model: unknown, provider: string | null): Json {
  if (typeof model !== 'string' || (provider === null && model === 'holdfast')) return {};
  const agentId = provider === null ? AGENT.exec(model)?.[1] : undefined;
  return agentId === undefined ? { model: named(model, provider) } : { agentId };
}

/** A model as Holdfast names it: `claude-…` of Anthropic's file has no provider. */
function named(model: string, provider: string | null): string {
  return provider === null || model.includes('/') ? model : `${provider}/${model}`;
}

function refuseOthers(value: Json, allowed: ReadonlySet<string>, prefix: string): void {
  const other = Object.keys(value).find((name) => !allowed.has(name));
  if (other !== undefined) {
    throw new ForeignLineError(
      `${prefix}${other}`,
      'an item cannot contain this field; remove it, or write the item as {"text": …}',
    );
  }
}

function objectAt(value: unknown, path: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isKeptInteger(value)) {
    throw new ForeignLineError(path, 'expected an object');
  }
  return value as Json;
}

function arrayAt(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new ForeignLineError(path, 'expected a list');
  return value;
}

/** The text of a content: a string, or a list of text blocks. */
function readText(content: unknown, path: string): string {
  if (typeof content === 'string') return content;
  const texts = arrayAt(content, path).map((block, index) => {
    const { type, text } = objectAt(block, `${path}[${index}]`);
    if (type !== 'text' || typeof text !== 'string') {
      throw new ForeignLineError(`${path}[${index}]`, 'expected a text block; an item can only contain text');
    }
    return text;
  });
  return texts.join('\n\n');
}
