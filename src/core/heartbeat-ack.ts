// The token by which a model says that a heartbeat poll found nothing to do. It counts at the edges of an answer only; in the middle
// it is ordinary text. The remaining text decides whether the answer is delivered.
import { TOKEN_MARKS } from './silent-reply.ts';

export const HEARTBEAT_TOKEN = 'HEARTBEAT_OK';

const PASSES_MAX = 8;
const AT_START = new RegExp(`^${HEARTBEAT_TOKEN}(?!\\w)`);
const AT_END = new RegExp(`(?<!\\s)\\s*(?<!\\w)${HEARTBEAT_TOKEN}(\\W{0,4})$`);

/**
 * What can be left beside a token in markup. `< >` cannot: it is left of `<HEARTBEAT_OK<b>>`, of which a stream has shown the beginning
 * before the inner tag ends.
 */
const ONLY_MARKS = new RegExp(`^[\\s${TOKEN_MARKS}]*$`);

/** The meaning of an answer to a poll: nothing to report (`isAck`), or the text that is left without the token. */
export interface HeartbeatReply {
  isAck: boolean;
  text: string;
}

/** Reads an answer to a poll. It acknowledges when it is empty, or has the token and at most `ackCharsMax` characters in addition to it. */
export function readHeartbeatAnswer(answer: string, ackCharsMax: number): HeartbeatReply {
  const given = answer.trim();
  if (given === '') return { isAck: true, text: '' };
  for (const candidate of [given, withoutMarkup(given)]) {
    const text = withoutToken(candidate);
    if (text !== candidate) return { isAck: text.length <= ackCharsMax, text };
  }
  return { isAck: false, text: given };
}

/**
 * A reply to anything but a poll, without the token at its edges; empty when nothing else was said. Nothing else of it is changed, so
 * that what was shown of it while it came stays as it is.
 */
export function withoutHeartbeatToken(reply: string): string {
  const given = reply.trim();
  if (!given.includes(HEARTBEAT_TOKEN)) return given;
  const rest = withoutEdges(given);
  if (rest !== given) return ONLY_MARKS.test(withoutMarkup(rest)) ? '' : rest;
  const bare = withoutMarkup(given);
  return bare !== given && ONLY_MARKS.test(withoutEdges(bare)) ? '' : given;
}

/** The start of a reply's own text, after its leading tokens. */
export function withoutLeadingHeartbeats(text: string): string {
  let rest = text;
  for (let pass = 0; pass < PASSES_MAX; pass += 1) rest = rest.replace(AT_START, '').trimStart();
  return rest;
}

function withoutToken(text: string): string {
  const rest = withoutEdges(text);
  if (rest === text) return text;
  // Of a token in bold, only the marks are left.
  return (/[\p{L}\p{N}]/u.test(rest) ? rest : withoutMarkup(rest)).replaceAll(/\s+/g, ' ');
}

/** Without the token at its start, and at its end before up to four marks, as often as it occurs there. */
function withoutEdges(text: string): string {
  let rest = text;
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    const shorter = rest.replace(AT_START, '').replace(AT_END, '$1').trim();
    if (shorter === rest) break;
    rest = shorter;
  }
  return rest;
}

function withoutMarkup(text: string): string {
  return text
    .replaceAll(/<[^<>]{0,200}>/g, ' ')
    .replaceAll(/&nbsp;/gi, ' ')
    .trim()
    .replace(/^[*`~_]+/, '')
    .replace(/(?<![*`~_])[*`~_]+$/, '')
    .trim();
}
