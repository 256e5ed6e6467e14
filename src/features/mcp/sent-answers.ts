// What a server has sent in answer, as `message-reader.ts` has put it into the answer that the
// protocol's library returns.
import { isObject, parseExactly } from '../../core/json.ts';
import { SENT_FIELD } from './message-reader.ts';
import type { ListedTool } from './rules.ts';
import type { SentAnswer } from './server-port.ts';

/** Numbers that JavaScript would round are read as texts. */
export function readSent(answer: { _meta?: unknown }): SentAnswer {
  const { [SENT_FIELD]: text } = isObject(answer._meta) ? answer._meta : {};
  // It was parsed when it came.
  return typeof text === 'string' ? (parseExactly(text) as SentAnswer) : { result: answer };
}

/** A tool of a list. */
export function readListed({ _meta = {} }: { _meta?: Record<string, unknown> | undefined }): ListedTool {
  // The reader of messages has put it there.
  return _meta[SENT_FIELD] as ListedTool;
}
