// What is wrong with the address of a provider: nothing is reached there, or what answers is not
// its API. Each case in words that name the address, the cause and the next step.
import { isObject } from '../../core/json.ts';

/** Where a request was sent, without what may be secret: user, query. */
export function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

const BY_CAUSE: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED/, 'No program listens there: start the server, or correct the address (baseUrl).'],
  [/ENOTFOUND|EAI_AGAIN/, 'The host has no address: correct its name (baseUrl), or check the DNS of this machine.'],
  [
    /CERT|TLS|SSL|ISSUER|EPROTO|certificate/,
    'There is no secure connection. If a proxy has a certificate of its own, set NODE_EXTRA_CA_CERTS; a server without TLS has http in its address (baseUrl).',
  ],
];

/** Why a request reached no server, and what to do. */
export function explainUnreached(url: string, cause: string): string {
  const step = BY_CAUSE.find(([pattern]) => pattern.test(cause))?.[1] ?? 'Check the network and its proxies.';
  return `Connection error at ${placeOf(url)}: ${cause.replaceAll(/\s+/g, ' ')}. ${step}`;
}

/** The first part of an answer. */
export interface AnswerHead {
  status: number;
  contentType: string;
}

/** Statuses with which a server says that it has nothing at a path. */
const NO_SUCH_PATH: ReadonlySet<number> = new Set([404, 405]);
const MOVED: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const CORRECT = 'Correct the address (baseUrl): most APIs need a path such as /v1 in it.';

/**
 * What of the body says whether the answer is the provider's: all of it, its first bytes or
 * nothing. Some servers give a stream of events a type of text that it does not have, or none.
 */
export function findDoubt({ status, contentType }: AnswerHead): 'body' | 'beginning' | null {
  if (NO_SUCH_PATH.has(status)) return 'body';
  return status < 300 && /^(?:text\/(?!event-stream)|$)/i.test(contentType) ? 'beginning' : null;
}

/**
 * Why an answer is not that of a provider's API, and what to do; null: it is one, as far as can be
 * seen. `body`: as much of it as `findDoubt` says.
 */
export function explainStranger(url: string, { status }: Pick<AnswerHead, 'status'>, body: string): string | null {
  const place = placeOf(url);
  if (MOVED.has(status)) return `${place} answers with a redirect (${status}), which is not followed. ${CORRECT}`;
  if (status < 300 && /^\s*</.test(body))
    return `${place} answers with a page of HTML: it is not the address of the API. ${CORRECT}`;
  if (!NO_SUCH_PATH.has(status) || isOfProvider(body)) return null;
  return `${place} answers ${status} without an error of the provider: it is not the address of the API. ${CORRECT}`;
}

/** What servers say about a path that they do not have: OpenAI, Groq, llama.cpp. */
const NAMES_PATH = /invalid url \(|unknown (?:request )?url|"file not found"/i;
/** OpenRouter has endpoints for a model. */
const NAMES_MODEL = /\bmodels?\b|no endpoints found/i;

/**
 * True for the error of a provider: an error object that has a type or a code in words or speaks of
 * the model (`error` as an object, also first of a list; that of vLLM), a problem with a detail (of
 * NVIDIA), and a text in JSON that speaks of the model. `{"detail": "Not Found"}` is what a web
 * framework says. Paths do not count: many servers repeat that of the request, which can have
 * `models` in it.
 */
function isOfProvider(body: string): boolean {
  const parsed = parse(body);
  const said = Array.isArray(parsed) ? (parsed as unknown[])[0] : parsed;
  if (!isObject(said)) return false;
  const text = JSON.stringify(said);
  if (NAMES_PATH.test(text)) return false;
  if (NAMES_MODEL.test(text.replaceAll(/\/[^\s"'\\]*/g, ''))) return true;
  const { error, object, detail, title, status } = said;
  if (isObject(error)) return [error['type'], error['code'], error['status']].some(isName);
  const isProblem = isName(title) && isName(detail) && !detail.includes('/') && typeof status === 'number';
  return object === 'error' || isObject(detail) || isProblem;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && /[a-z]/i.test(value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
