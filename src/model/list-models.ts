// The names of the models that a server says it has: for a person who looks for what is wrong with
// one. No turn needs them.
import type { Dispatcher } from 'undici';
import { isObject } from '../core/json.ts';
import { readRefusal as judge } from './ai-sdk/rules/read-refusal.ts';
import { ModelError } from './model.ts';
import { malformedAnswer, post, readRefusal, toText } from './post.ts';

/** A list is some hundred kilobytes at most. */
const LIST_BYTES_MAX = 8 * 1024 * 1024;

export interface ListPlace {
  url: string;
  headers: Record<string, string>;
}

/** Throws `ModelError` for a refusal, and for an answer that is no list of models. */
export async function listModels(pool: Dispatcher, place: ListPlace, signal: AbortSignal): Promise<string[]> {
  const { status, headers, bytes } = await post(
    pool,
    { ...place, method: 'GET' },
    { signal, onWrite: () => undefined },
  );
  if (status < 200 || status >= 300) {
    const body = await readRefusal(bytes);
    const { type, message, errorCode } = judge({ status, body: parsed(body), fallback: `Status ${status}` });
    throw new ModelError({ type, status, retryAfterMs: null, message, errorCode });
  }
  let rest = LIST_BYTES_MAX;
  const names = namesIn(parsed(await toText(bytes, (count) => (rest -= count) > 0)));
  if (names !== null) return names;
  const type = headers.get('content-type') ?? 'no type';
  throw malformedAnswer(`The answer of ${place.url} is no list of models but ${type}: is it the address of the API?`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** `data` of OpenAI and Anthropic, `models` of Google, whose names begin with `models/`. */
function namesIn(body: unknown): string[] | null {
  if (!isObject(body)) return null;
  const rows = body['data'] ?? body['models'];
  if (!Array.isArray(rows)) return null;
  return rows.flatMap((row: unknown) => {
    const name = isObject(row) ? (row['id'] ?? row['name']) : null;
    return typeof name === 'string' ? [name.replace(/^models\//, '')] : [];
  });
}
