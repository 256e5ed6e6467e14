// What may be shown of a reply while it is streamed: reasoning, reply tags and silent tokens are
// held back wherever they are cut, and so is text that may still become one. Joined, the shown text
// is the final reply, or nothing when it is silent: a reader never sees text that is later removed.
import {
  createReasoningFilter,
  decideOutcome,
  withoutTokens,
  type ReplyRules,
  createTagFilter,
  SILENT_REPLY_TOKEN,
  withoutLeadingTokens,
} from '../../core/reply.ts';
import { HEARTBEAT_TOKEN, withoutLeadingHeartbeats, TOKEN_MARKS } from '../../core/heartbeat.ts';
import { chainFilters, type TextFilter } from '../../core/text.ts';

/** Takes the text of an answer in pieces; returns the text to show. */
export function createReplyStream(rules: ReplyRules): TextFilter {
  if (rules.heartbeatAckCharsMax !== null) return createPollFilter(rules);
  return chainFilters([
    ...(rules.hasReasoningTags ? [createReasoningFilter()] : []),
    createTagFilter(),
    createTokenFilter(),
  ]);
}

/** Whether an answer to a poll is shown is decided when it is complete. */
function createPollFilter(rules: ReplyRules): TextFilter {
  let answer = '';
  return {
    push(piece) {
      answer += piece;
      return '';
    },
    end: () => decideOutcome(answer, rules).reply ?? '',
  };
}

/**
 * Removes the silent tokens from both ends. At first everything is held back that could still be a
 * silent reply as a whole; after that only the end, as long as it consists of spaces, asterisks and
 * tokens, or begins one.
 */
function createTokenFilter(): TextFilter {
  /** The whole text so far; the shown text is a part of it. */
  let whole = '';
  let shown = '';
  /** The text that is not shown yet; null: the reply has not begun. */
  let pending: string | null = null;

  return {
    push(piece) {
      whole += piece;
      if (pending === null) {
        const text = whole.trimStart();
        if (mayBeSilence(text)) return '';
        pending = withoutTokensAtStart(text);
      } else pending += piece;
      const heldFrom = endingAt(pending);
      const done = pending.slice(0, heldFrom);
      pending = pending.slice(heldFrom);
      shown += done;
      return done;
    },
    end() {
      const reply = withoutTokens(whole, null);
      return reply.startsWith(shown) ? reply.slice(shown.length) : '';
    },
  };
}

function withoutTokensAtStart(text: string): string {
  const rest = withoutLeadingHeartbeats(withoutLeadingTokens(text));
  return rest === text ? rest : withoutTokensAtStart(rest);
}

const TOKENS = [SILENT_REPLY_TOKEN, HEARTBEAT_TOKEN];
const JSON_SILENCE = ['{', '"action"', ':', `"${SILENT_REPLY_TOKEN}"`, '}'];
const MARKUP = new RegExp(`[\\s${TOKEN_MARKS}]|<[^<>]{0,200}(?:>|$)|&(?:nbsp;|(?:n|nb|nbs|nbsp)?$)`, 'iy');
/**
 * The text that is removed with a token at the end, and the marks that can follow the token of a
 * poll.
 */
const ENDING = new RegExp(`[\\s*]|${SILENT_REPLY_TOKEN}|${HEARTBEAT_TOKEN}\\W{0,4}`, 'y');

/**
 * True when a text, or a longer one that begins so, may say nothing: tokens, in any case and in
 * markup, or their beginning.
 */
function mayBeSilence(text: string): boolean {
  let at = 0;
  while (at < text.length) {
    const end = jsonEnd(text, at);
    if (end > at) {
      at = end;
      continue;
    }
    const rest = text.slice(at, at + HEARTBEAT_TOKEN.length).toUpperCase();
    const token = TOKENS.find((one) => rest.startsWith(one));
    if (token === undefined && beginsToken(rest)) return true;
    const next = token === undefined ? findEnd(MARKUP, text, at) : at + token.length;
    if (next === null) return false;
    at = next;
  }
  return true;
}

/**
 * Where the end begins that may still be removed: blanks, asterisks and tokens up to the end, or
 * the beginning of one.
 */
function endingAt(text: string): number {
  let start: number | null = null;
  let at = 0;
  while (at < text.length) {
    const next = findEnd(ENDING, text, at);
    if (next === null && beginsToken(text.slice(at, at + HEARTBEAT_TOKEN.length))) return start ?? at;
    start = next === null ? null : (start ?? at);
    at = next ?? at + 1;
  }
  return start ?? text.length;
}

function beginsToken(rest: string): boolean {
  return TOKENS.some((token) => token.startsWith(rest));
}

/**
 * The position after a silent token in JSON that begins at `start`, or the end of the text when it
 * is cut there; `start`: there is none.
 */
function jsonEnd(text: string, start: number): number {
  let at = start;
  for (const part of JSON_SILENCE) {
    const found = text.slice(at, at + part.length);
    if (found !== part.slice(0, found.length)) return start;
    if (found.length < part.length) return text.length;
    at = findEnd(/\s*/y, text, at + part.length) ?? at;
  }
  return at;
}

function findEnd(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  return match === null ? null : at + match[0].length;
}
