// What chat completions and responses have in common: parameters, contents, images and levels of
// thinking.
import { z } from 'zod';
import type { ResponseFormat } from '../../core/response-format.ts';
import { responseFormat } from '../../config/schema-inputs.ts';
import { parseWith, parseJson } from '../../api/parse-json.ts';
import type { ClientMessage, ClientPart } from './rules/conversation.ts';
import { clientMetadata } from '../../contract/input-options.ts';
import { clientToolChoice, clientTools, readTools, type ToolForm } from './read-tools.ts';
import { isObject, isKeptInteger } from '../../core/json.ts';
import { isBlank } from '../../core/text.ts';
import { fieldProblem, Problem } from '../../api/problem.ts';

/** OpenAI's levels of thinking and ours. */
const THINKING = {
  none: 'off',
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
} as const;

export const effort = z.enum(Object.keys(THINKING) as [keyof typeof THINKING]).nullish();

const TOKENS_MAX = 1_000_000;
export const tokens = z.int().min(1).max(TOKENS_MAX).nullish();

/** The parameters that both forms have. */
export const SHARED = {
  model: z.string().min(1),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  tools: clientTools,
  tool_choice: clientToolChoice,
  parallel_tool_calls: z.boolean().nullish(),
  user: z.string().min(1).max(1000).nullish(),
  metadata: clientMetadata,
};

/** The shared fields that have no effect in Holdfast. */
export const SHARED_IGNORED = {
  store: z.boolean().nullish(),
  service_tier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  top_logprobs: z.int().nullish(),
};

/** A request of a client, from either form. */
export interface ClientRequest extends ReturnType<typeof readShared> {
  messages: ClientMessage[];
  maxTokens: number | undefined;
  stop: string[] | undefined;
  responseFormat: ResponseFormat | undefined;
  /** The fields of the request that the answer repeats. */
  asked?: Record<string, unknown>;
  /** Parameters without effect. */
  ignored: string[];
}

const shared = z.object(SHARED);

export function readShared(form: ToolForm, data: z.output<typeof shared>, level: z.output<typeof effort>) {
  return {
    model: data.model,
    isStreaming: data.stream === true,
    tools: readTools(form, data.tools, data.tool_choice),
    isParallel: data.parallel_tool_calls !== false,
    thinking: level ? THINKING[level] : undefined,
    temperature: data.temperature ?? undefined,
    topP: data.top_p ?? undefined,
    user: data.user ?? undefined,
    metadata: data.metadata ?? undefined,
  };
}

/** The names of those of these parameters that a request has. */
export function namesSent(parameters: object, data: Record<string, unknown>): string[] {
  return Object.keys(parameters).filter((name) => (data[name] ?? null) !== null);
}

/** The media type and `base64` in any case, and `jpg` for `jpeg`: clients write all of them. */
const DATA_URL = /^data:image\/(png|jpe?g|gif|webp);base64,([A-Za-z\d+/]+={0,2})$/i;

/** What base64 of an image a model takes. */
const IMAGE_CHARS_MAX = 5 * 1024 * 1024;

/** A parameter that is refused unless it is absent or null. */
export function refused(why: string): z.ZodType<null | undefined> {
  return z.null({ error: why }).optional();
}

/** A content of text parts as one text. A refusal of the assistant is what it said. */
export function textOfContent(content: string | readonly ({ text: string } | { refusal: string })[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => ('text' in part ? part.text : part.refusal)).join('\n');
}

/**
 * The stop sequences that a model takes, and those of them that are not blank; a model refuses
 * blank ones.
 */
export function toStops(stop: string | readonly string[] | null | undefined): { stop?: string[]; ignored: string[] } {
  const all = typeof stop === 'string' ? [stop] : (stop ?? []);
  const kept = all.filter((sequence) => !isBlank(sequence));
  return { ...(kept.length === 0 ? {} : { stop: kept }), ignored: kept.length < all.length ? ['stop'] : [] };
}

const FORMATS = ['text', 'json_object', 'json_schema'] as const;

export const answerFormat = z
  .looseObject({ type: z.enum(FORMATS, { error: `expected ${FORMATS.join(', ')}` }) })
  .nullish();

/**
 * The form of the answer, from a format of one of OpenAI's APIs; `inner`: the field that has the
 * name and the schema, if one has them.
 */
export function toResponseFormat(
  format: z.output<typeof answerFormat>,
  path: string,
  inner?: string,
): ResponseFormat | undefined {
  if (!format || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json_schema', schema: { type: 'object' } };
  const place = inner === undefined ? path : `${path}.${inner}`;
  const named = inner === undefined ? format : format[inner];
  const { name, schema } = parseWith(namedSchema, named, 'invalid_body', place);
  return { type: 'json_schema', schema, name };
}

const { name, schema } = responseFormat.shape;
const namedSchema = z.looseObject({ name: name.unwrap(), schema });

/** The parts of a user's content: texts and images. `types`: their names in the form. */
export function parseParts(
  content: string | readonly { type: string; [key: string]: unknown }[],
  path: string,
  types: { text: string; image: string } = { text: 'text', image: 'image_url' },
): ClientPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part, at): ClientPart => {
    const place = `${path}[${at}]`;
    if (part.type === types.text && typeof part['text'] === 'string') return { type: 'text', text: part['text'] };
    if (part.type === types.image) return parseImage(part['image_url'], `${place}.image_url`);
    throw fieldProblem(
      `${place}.type`,
      `expected ${types.text} with a text or ${types.image}; ${JSON.stringify(part.type)} is not supported`,
    );
  });
}

function parseImage(value: unknown, path: string): ClientPart {
  const url = typeof value === 'string' ? value : (value as { url?: unknown } | null | undefined)?.url;
  if (typeof url !== 'string') throw fieldProblem(path, 'expected a data URL of an image');
  const [, format, data] = DATA_URL.exec(url) ?? [];
  if (format === undefined || data === undefined)
    throw fieldProblem(path, 'expected data:image/png, jpeg, gif or webp in base64; addresses are not fetched');
  if (data.length > IMAGE_CHARS_MAX)
    throw fieldProblem(path, `the image has ${data.length} characters of base64, and ${IMAGE_CHARS_MAX} are allowed`);
  return {
    type: 'image',
    source: { type: 'base64', media_type: `image/${format.toLowerCase().replace('jpg', 'jpeg')}`, data },
  };
}

/**
 * The arguments of a call in a history, under the rules of a body: with every digit of their
 * integers, and no deeper than `depthMax`.
 */
export function parseArguments(json: string, path: string, depthMax: number): object {
  try {
    const value = parseJson(Buffer.from(json === '' ? '{}' : json), depthMax);
    if (isObject(value) && !isKeptInteger(value)) return value;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const [fault] = error.errors ?? [];
    if (fault !== undefined) throw fieldProblem(path, `${fault.message} at ${fault.path}`);
  }
  throw fieldProblem(path, 'expected a JSON object as text');
}
