// What a refusal means, in the words of the providers: no two APIs say in the same way that a
// prompt is too long, that the money is gone or how long to wait. The type that comes out is one of
// the Messages API, by which `classifyFailure` judges; a test has the words of each server.
import { isObject } from '../../../core/json.ts';
import { cutHead, isBlank } from '../../../core/text.ts';
import { CONTEXT_OVERFLOW, MISSING_REASONING, REFUSED_FORCING, REFUSED_ORIGIN } from '../../../core/failure.ts';
import { classifyStopReason } from '../../stream/stop-reasons.ts';

// The text of a refusal, in a body of any form: each server has it in another field, a router
// passes on JSON inside of JSON, and a proxy answers with a page or with nothing.

export interface RefusalBody {
  /** The HTTP status; null: it came inside an answer. */
  status: number | null;
  /** The body or the chunk: read as JSON where it is that, else its text. */
  body: unknown;
  /** The text for people when the body has none. */
  fallback: string;
}

/** No server needs more to say what is wrong. */
export const SEARCHED_CHARS_MAX = 8_000;
/** How much of a body of unknown form a person is shown. */
const SHOWN_CHARS_MAX = 1_000;
/** How deep a text may be inside a body, and how many texts are read. */
const DEPTH_MAX = 6;
const TEXTS_MAX = 3;

/** The text for people; never a blank one. */
export function toMessage({ body, fallback, status }: RefusalBody, raw: unknown): string {
  const own = textsIn(body);
  const texts = own.length > 0 ? own : [toShown(body) ?? textOf(fallback) ?? ''];
  const passedOn = raw === undefined ? [] : [...textsIn(raw), toShown(raw) ?? ''].slice(0, 1);
  const said = withoutRepeats([...texts, ...passedOn]).join(': ');
  if (said !== '') return said;
  return status === null
    ? 'The server has sent an error without a text.'
    : `The server has answered with the status ${status}, without a text.`;
}

function withoutRepeats(texts: readonly string[]): string[] {
  return texts.filter((text, at) => text !== '' && !texts.some((other, place) => place < at && other.includes(text)));
}

/**
 * The answer of the server that a router asked, as OpenRouter passes it on: JSON as text, or a
 * text; undefined: there is none.
 */
export function findRaw({ metadata }: Record<string, unknown>): unknown {
  const raw = isObject(metadata) ? metadata['raw'] : undefined;
  return typeof raw === 'string' ? parsed(raw) : raw;
}

/** Where servers have the text of an error, the most telling first; `detail` is FastAPI's. */
const TEXT_FIELDS =
  'message msg detail error errors error_message error_msg errorMessage error_description Message description title reason'.split(
    ' ',
  );

/**
 * The first texts in a body of any form, by the names of such fields; what a server repeats of the
 * request is in others.
 */
function textsIn(value: unknown, depth = 0): string[] {
  if (depth > DEPTH_MAX) return [];
  if (typeof value === 'string') {
    const inner = parsed(value);
    const texts = isObject(inner) ? textsIn(inner, depth + 1) : [];
    return texts.length > 0 ? texts : [textOf(titleOfPage(value)) ?? ''].filter((text) => text !== '');
  }
  if (Array.isArray(value)) {
    const texts = (value as unknown[]).slice(0, TEXTS_MAX).flatMap((row) => textsIn(row, depth + 1));
    return texts.length === 0 ? [] : [texts.slice(0, TEXTS_MAX).join('; ')];
  }
  if (!isObject(value)) return [];
  const texts = TEXT_FIELDS.flatMap((name) => textsIn(value[name], depth + 1)).slice(0, TEXTS_MAX);
  return texts.map((text) => placed(text, value));
}

/**
 * With the field of the request that FastAPI refuses, and with the window that llama.cpp names
 * beside the text.
 */
function placed(text: string, { loc, n_ctx: window }: Record<string, unknown>): string {
  if (Array.isArray(loc) && loc.length > 0) return `${loc.slice(0, DEPTH_MAX).map(String).join('.')}: ${text}`;
  return typeof window === 'number' && !text.includes(String(window)) ? `${text} (n_ctx ${window})` : text;
}

/**
 * A page of a proxy, as nginx has one for each error, by its title; any other text as far as it is
 * searched.
 */
function titleOfPage(text: string): string {
  const head = cutHead(text, SEARCHED_CHARS_MAX);
  return /<title>\s{0,20}([^<]{1,200}?)\s{0,20}<\/title>/i.exec(head)?.[1] ?? head;
}

/** A body that has no text, as it is; undefined: it says nothing. */
function toShown(body: unknown): string | undefined {
  if (typeof body === 'string' || body === null || body === undefined) return undefined;
  const isEmpty = typeof body === 'object' && Object.keys(body).length === 0;
  return isEmpty ? undefined : cutHead(JSON.stringify(body), SHOWN_CHARS_MAX);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The value if it is a text that says something. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && !isBlank(value) ? value : undefined;
}

export interface ProviderRefusal extends RefusalBody {
  /** What could be written in another way; absent: nothing. */
  sent?: RefusedRequest;
}

export interface RefusedRequest {
  /** True when it forced a call that its caller has not asked for. */
  isForced: boolean;
  /** True when answers of the history can have an empty reasoning. */
  takesReasoning: boolean;
}

export interface RefusalFacts {
  type: string;
  message: string;
  errorCode: string | null;
  /**
   * The wait that the text or the details ask for, in milliseconds; null: none. Headers count more.
   */
  waitMs: number | null;
}

/** The words of a prompt that does not fit. */
const OVERFLOWS = [
  // OpenAI, Azure, DeepSeek, vLLM, OpenRouter
  /context_length_exceeded|maximum context length|exceeds? the context window/i,
  // Anthropic, also through gateways; Fireworks; Ollama
  /prompt is too long|prompt too long/i,
  // Gemini
  /input token count .{0,40}exceeds the maximum/i,
  // xAI
  /maximum prompt length/i,
  // Groq
  /reduce the length of the messages|reduce your message size/i,
  // Bedrock
  /input is too long for requested model/i,
  // llama.cpp
  /exceed_context_size|exceeds the available context size/i,
  // LM Studio
  /greater than the context length|context length of (?:only )?\d{1,9} tokens|\bn_keep\b.{0,40}\bn_ctx\b/i,
  // TabbyAPI, ExLlama
  /is greater than (?:max_seq_len|cache_size)|sequence length exceeds (?:the )?cache size/i,
  /requires \d{1,9} (?:pages|cache tokens)\b.{0,40}(?:available|exceeds)/i,
  // vLLM, newer; SGLang, Together
  /longer than the maximum model length|longer than the model's context length/i,
  // Mistral
  /too large for model with .{0,40}maximum context/i,
  // Kimi
  /exceeded model token limit/i,
  // MiniMax, GitHub
  /context window exceeds limit|prompt token count .{0,40}exceeds the limit/i,
  // Cohere
  /too many tokens: |prompt cannot exceed/i,
  // Qwen
  /range of input length should be/i,
  // Text Generation Inference
  /inputs?`? (?:tokens \+ `?max_new_tokens`? must be <=|must have less than)/i,
  // OpenAI and Groq, when one request is more than a minute may have: no wait makes it fit.
  /request too large for .{1,200}tokens per min/i,
];

/**
 * What an earlier answer gave, and has to come back, is refused: it is of another key, or damaged.
 */
const ORIGINS = [
  // OpenAI, xAI
  /invalid_encrypted_content|encrypted content .{0,200}could not be (?:verified|decrypted|parsed)/i,
  /of type 'reasoning' was provided without its required|without its required 'reasoning' item/i,
  // Gemini
  /thought_?signature|thought signature/i,
  // Anthropic, through gateways and packages
  /invalid `?signature`? in `?thinking/i,
];

/** Answers came back without the reasoning that the model had written: DeepSeek, Kimi. */
const BARE_ANSWERS = [
  /missing `?reasoning_content|reasoning_content`? is (?:missing|required)/i,
  /`?reasoning_content`? .{0,60}must be (?:passed|sent|provided)/i,
];

/**
 * A model that thinks refuses to be forced to call a tool: DeepSeek, Qwen, Kimi, Claude through
 * packages and gateways.
 */
const FORCINGS = [/tool[_ -]?choice/i, /\bthinking\b/i];

/** The money is gone, or the account is closed: waiting changes nothing. */
const BILLINGS = [
  /insufficient[_ ](?:quota|balance|credits?|funds)|billing_(?:hard_limit_reached|not_active|disabled)/i,
  /exceeded your current quota, please check your plan|exceeded_current_quota|check your plan and billing/i,
  /account_deactivated|account is not active|credit balance is too low|billing to be enabled|arrearage/i,
  /doesn't have any credits|used all available credits|monthly spending limit|no resource package/i,
];

const UNKNOWN_MODELS = [
  /model_not_found|unknown_model|invalid_model|no_such_model/i,
  /\bmodels?[ /:]+\S{1,200}\s*(?:is not found|not found|does not exist)/i,
  /is not a valid model id|invalid model[: ]|model identifier is invalid|no such model|unknown model/i,
];

const KEYS = [
  /invalid_api_key|incorrect api key|invalid api key|api[_ ]key[_ ](?:not valid|invalid|expired)|unauthenticated/i,
  /no auth credentials found|invalid authentication|authentication (?:fails|failed)/i,
];

const FILTERS =
  /content_?filter|content_?policy_?violation|responsible_?ai|data_?inspection_?failed|prohibited_?content/i;

const OVERLOADS = /overloaded|capacity[ _]exceeded|at capacity|server_is_busy/i;

/**
 * The types of the statuses, for errors inside an answer, which have a number as their code at
 * best.
 */
const TYPE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  498: 'overloaded_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** Reads a refusal. */
export function readRefusal({ status, body, fallback, sent }: ProviderRefusal): RefusalFacts {
  const fault = findFault(body);
  const raw = findRaw(fault);
  const message = toMessage({ status, body, fallback }, raw);
  // The finer name first: OpenAI's `code`, the `reason` in Google's details, then the general ones;
  // then those of the server that a router asked.
  const names = [fault, ...(raw === undefined ? [] : [findFault(raw)])].flatMap((one) => [
    one['code'],
    ...detailsOf(one).map(({ reason }) => reason),
    one['type'],
    one['status'],
  ]);
  const words = names.flatMap((name) => textOf(name) ?? []);
  const waitMs = readDelay(fault) ?? readWaitInText(message);
  const judged = status ?? numberOf(fault['code']) ?? numberOf(fault['status']);
  return {
    type: typeOf(judged, { words, message, hasWait: waitMs !== null, sent }),
    message,
    errorCode: words[0] ?? null,
    waitMs,
  };
}

interface Said {
  words: readonly string[];
  message: string;
  hasWait: boolean;
  sent: RefusedRequest | undefined;
}

function typeOf(status: number | null, { words, message, hasWait, sent }: Said): string {
  const said = cutHead([...words, message].join('\n'), SEARCHED_CHARS_MAX);
  const says = (patterns: readonly RegExp[]): boolean => patterns.some((pattern) => pattern.test(said));
  if (status === 400 && says(ORIGINS)) return REFUSED_ORIGIN;
  const isUnread = status === 400 || status === 422;
  if (isUnread && sent?.takesReasoning === true && says(BARE_ANSWERS)) return MISSING_REASONING;
  if (isUnread && sent?.isForced === true && says(FORCINGS)) return REFUSED_FORCING;
  if (says(OVERFLOWS)) return CONTEXT_OVERFLOW;
  // Gemini writes of plan and billing when a minute's quota is used up, and says how long to wait.
  if (!hasWait && says(BILLINGS)) return 'billing_error';
  if (says(UNKNOWN_MODELS)) return 'not_found_error';
  if (says(KEYS)) return 'authentication_error';
  const filter = words.find((word) => FILTERS.test(word) || classifyStopReason(word) === 'sensitive');
  if (filter !== undefined) return 'content_filter';
  if (status !== null) return TYPE_OF_STATUS[status] ?? (status >= 500 ? 'api_error' : (words[0] ?? 'unknown_error'));
  if (/rate_?limit|resource_exhausted|too_many_requests|throttl/i.test(said)) return 'rate_limit_error';
  if (OVERLOADS.test(said)) return 'overloaded_error';
  if (/invalid_request|invalid_argument|bad_request/i.test(words.join('\n'))) return 'invalid_request_error';
  return 'api_error';
}

/**
 * The object that says what is wrong: in `error`, in the response that failed, first of a list, or
 * the body itself.
 */
function findFault(body: unknown): Record<string, unknown> {
  const found = Array.isArray(body) ? (body as unknown[])[0] : body;
  if (!isObject(found)) return {};
  const { error, response, detail } = found;
  if (isObject(error)) return error;
  if (isObject(detail)) return findFault(detail);
  if (isObject(response) && isObject(response['error'])) return response['error'];
  return typeof error === 'string' ? { ...found, message: error } : found;
}

function detailsOf({ details }: Record<string, unknown>): Record<string, unknown>[] {
  return Array.isArray(details) ? details.filter(isObject) : [];
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && value >= 400 && value <= 599 ? value : null;
}

/** Google's RetryInfo: `retryDelay: "34.07s"`. */
function readDelay(fault: Record<string, unknown>): number | null {
  const delays = detailsOf(fault).flatMap(({ retryDelay }) => textOf(retryDelay) ?? []);
  return delays.length === 0 ? null : toMs(delays[0] ?? '');
}

/**
 * "Please retry in 34.07s", "Please try again in 6m0s", "try again in 20ms", "retry after 5
 * seconds".
 */
function readWaitInText(message: string): number | null {
  const found =
    /(?:re)?try(?: again)? (?:in|after) ((?:\d{1,9}(?:\.\d{1,12})?\s?(?:ms|milliseconds?|h|hours?|m|min|minutes?|s|sec|seconds?)(?![a-z])\s?){1,4})/i.exec(
      cutHead(message, SEARCHED_CHARS_MAX),
    );
  return found === null ? null : toMs(found[1] ?? '');
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, h: 3_600_000, m: 60_000, s: 1000 };

function toMs(text: string): number | null {
  let ms = 0;
  const pieces = [...text.matchAll(/(\d{1,9}(?:\.\d{1,12})?)\s?([a-z]{1,12})/gi)];
  for (const [, figure = '', unit = ''] of pieces) ms += Number(figure) * (UNIT_MS[unitOf(unit.toLowerCase())] ?? 0);
  return pieces.length === 0 ? null : Math.ceil(ms);
}

function unitOf(unit: string): string {
  if (unit === 'ms' || unit.startsWith('milli')) return 'ms';
  return unit.slice(0, 1);
}
