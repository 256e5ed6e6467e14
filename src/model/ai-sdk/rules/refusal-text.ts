// The text of a refusal, in a body of any form: each server has it in another field, a router passes on JSON inside of JSON, and a proxy answers with
// a page or with nothing.
import { isObject } from '../../../core/json.ts';
import { cutHead, isBlank } from '../../../core/text.ts';

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
/** Of a body whose form is not known, a person is shown so much. */
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

/** The answer of the server that a router asked, as OpenRouter passes it on: JSON as text, or a text; undefined: there is none. */
export function findRaw({ metadata }: Record<string, unknown>): unknown {
  const raw = isObject(metadata) ? metadata['raw'] : undefined;
  return typeof raw === 'string' ? parsed(raw) : raw;
}

/** Where servers have the text of an error, the most telling first; `detail` is FastAPI's. */
const TEXT_FIELDS =
  'message msg detail error errors error_message error_msg errorMessage error_description Message description title reason'.split(
    ' ',
  );

/** The first texts in a body of any form, by the names of such fields; what a server repeats of the request is in others. */
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

/** With the field of the request that FastAPI refuses, and with the window that llama.cpp names beside the text. */
function placed(text: string, { loc, n_ctx: window }: Record<string, unknown>): string {
  if (Array.isArray(loc) && loc.length > 0) return `${loc.slice(0, DEPTH_MAX).map(String).join('.')}: ${text}`;
  return typeof window === 'number' && !text.includes(String(window)) ? `${text} (n_ctx ${window})` : text;
}

/** A page of a proxy, as nginx has one for each error, by its title; any other text as far as it is searched. */
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
