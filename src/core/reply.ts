// What of an answer's text is the reply: tags that say which message it answers, the token that
// says that there is nothing to say, and reasoning in tags. All of it is removed in the same way
// from the live stream and from the whole answer. What follows from a finished turn is decided from
// the rest.
import { cutHead, filterWhole, type TextFilter, chainFilters } from './text.ts';
import { readHeartbeatAnswer, withoutHeartbeatToken, TOKEN_MARKS } from './heartbeat.ts';
import { joinText, type ContentBlock } from './content.ts';

// Marks by which a model directs its reply: tags that say which message it answers, and the token
// that says that it has nothing to say. The tags `[[reply_to_current]]` and `[[reply_to:<id>]]` are
// removed everywhere; nothing else of the text changes except the spaces around a tag.

/** The message that a reply answers: the one that started the turn, or one by the platform's id. */
export type ReplyTarget = { kind: 'current' } | { kind: 'message'; id: string };

const TAG = /\[\[[^\S\n]*(?:reply_to_current[^\S\n]*|reply_to[^\S\n]*:([^\]\n]{0,1000}))\]\]/iy;

/** A text that may become a tag when it continues. */
const TAG_PART =
  /\[\[[^\S\n]*(?:|r|re|rep|repl|reply|reply_|reply_t|reply_to_[a-z]{0,7}|reply_to_current[^\S\n]*\]?|reply_to[^\S\n]*(?::[^\]\n]{0,1000}\]?)?)$/iy;

const BLANKS = /[^\S\n]*/y;

const ID_CHARS_MAX = 200;

/**
 * The text without tags, and what the tags say: the last id that is named, else the current
 * message, else null. The spaces after a tag are removed with it; at the end of a line also those
 * before it.
 */
export function takeReplyTags(text: string): { text: string; target: ReplyTarget | null } {
  if (!text.includes('[[')) return { text, target: null };
  let target: ReplyTarget | null = null;
  const rest = filterWhole(
    createTagFilter((id) => {
      if (id !== '') target = { kind: 'message', id };
      else target ??= { kind: 'current' };
    }),
    text,
  );
  return { text: target === null ? rest : rest.trimStart(), target };
}

/**
 * Removes tags from a text. `onTag` is called with the id of each, empty for the current message;
 * it must not throw.
 */
export function createTagFilter(onTag: (id: string) => void = () => {}): TextFilter {
  let pending = '';

  const take = (isWhole: boolean): string => {
    let done = '';
    let from = 0;
    let at = 0;
    for (;;) {
      at = pending.indexOf('[[', at);
      if (at < 0) break;
      const run = readRun(pending, at, isWhole);
      if (run === 'unfinished') break;
      if (run === null) {
        at += 1;
        continue;
      }
      for (const id of run.ids) onTag(id);
      const isLineEnd = run.end === pending.length || pending[run.end] === '\n';
      done += pending.slice(from, isLineEnd ? blanksBefore(pending, at, from) : at);
      from = at = run.end;
    }
    let heldFrom = at >= 0 ? at : pending.endsWith('[') ? pending.length - 1 : pending.length;
    heldFrom = isWhole ? pending.length : blanksBefore(pending, heldFrom, from);
    done += pending.slice(from, heldFrom);
    pending = pending.slice(heldFrom);
    return done;
  };

  return {
    push(piece) {
      pending += piece;
      return take(false);
    },
    end: () => take(true),
  };
}

interface TagRun {
  ids: string[];
  /** The position after the last of them and its spaces. */
  end: number;
}

/**
 * The consecutive tags from a place on; `unfinished` when the following text decides; null: there
 * is none.
 */
function readRun(text: string, start: number, isWhole: boolean): TagRun | 'unfinished' | null {
  const ids: string[] = [];
  let at = start;
  for (let tag = match(TAG, text, at); tag !== null; tag = match(TAG, text, at)) {
    ids.push(cutHead((tag[1] ?? '').trim(), ID_CHARS_MAX));
    at += tag[0].length;
    at += match(BLANKS, text, at)?.[0].length ?? 0;
  }
  const mayGoOn = !isWhole && (at === text.length || text.slice(at) === '[' || match(TAG_PART, text, at) !== null);
  if (mayGoOn) return 'unfinished';
  return ids.length === 0 ? null : { ids, end: at };
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Where the spaces before a position begin, at most as far back as `from`. */
function blanksBefore(text: string, end: number, from: number): number {
  let at = end;
  while (at > from && /[^\S\n]/.test(text[at - 1] ?? '')) at -= 1;
  return at;
}

// The token by which a model says that it has nothing to say. A reply that is only the token is
// silent on purpose; a token at the edges of a real reply is removed and the rest is sent. Anything
// else that mentions it is sent as it is.

export const SILENT_REPLY_TOKEN = 'NO_REPLY';

const PASSES_MAX = 8;

const SILENCE = new RegExp(`^(?:[\\s${TOKEN_MARKS}]*${SILENT_REPLY_TOKEN})+[\\s${TOKEN_MARKS}]*$`, 'i');

export type Reply = { kind: 'silent' } | { kind: 'reply'; text: string };

/**
 * What a model's final text means. Silent: nothing but blanks, the token alone in any case and in
 * marks, or `{"action": "NO_REPLY"}`. Else a reply, without a token at its end (after a blank or
 * `*`) and without tokens glued to its first word.
 */
export function interpretReply(text: string): Reply {
  let rest = text.trim();
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    if (isSilence(rest)) return { kind: 'silent' };
    const stripped = stripLeadingToken(stripTrailingToken(rest));
    if (stripped === rest) break;
    rest = stripped;
  }
  return { kind: 'reply', text: rest };
}

/** The start of a reply's own text, without the tokens attached to it. */
export function withoutLeadingTokens(text: string): string {
  let rest = text;
  for (let pass = 0; pass < PASSES_MAX; pass += 1) rest = stripLeadingToken(rest);
  return rest;
}

function isSilence(text: string): boolean {
  if (text === '' || SILENCE.test(text)) return true;
  if (!text.startsWith('{') || !text.endsWith('}') || !text.includes(SILENT_REPLY_TOKEN)) return false;
  return /^\{\s*"action"\s*:\s*"NO_REPLY"\s*\}$/.test(text);
}

function stripTrailingToken(text: string): string {
  if (!text.endsWith(SILENT_REPLY_TOKEN)) return text;
  const before = text.slice(0, -SILENT_REPLY_TOKEN.length);
  if (!/[\s*]$/.test(before)) return text;
  let end = before.length;
  while (end > 0 && before[end - 1] === '*') end -= 1;
  return before.slice(0, end).trimEnd();
}

function stripLeadingToken(text: string): string {
  return text.replace(/^(?:NO_REPLY)+(?=[\p{L}\p{N}])/u, '');
}

// The consequences of a finished turn: decided from values, carried out by the statement that ends
// the turn.

/** How an input is settled: `answered` with a reply, or `silent` on purpose. */
export interface AnswerOutcome {
  status: 'completed' | 'silent';
  messageStatus: 'answered' | 'silent';
  /** The text that leaves; null when nothing does. */
  reply: string | null;
  /** The message that the reply answers, when the model said so. */
  replyTarget: ReplyTarget | null;
}

export interface ReplyRules {
  /** True when the model was instructed to write its reasoning in tags. */
  hasReasoningTags: boolean;
  /**
   * The text that an acknowledgement of a heartbeat poll may have in addition to its token, in
   * UTF-16 units; null for turns that answer no poll.
   */
  heartbeatAckCharsMax: number | null;
}

const SILENT: AnswerOutcome = { status: 'silent', messageStatus: 'silent', reply: null, replyTarget: null };

/**
 * Decides from the text of the last answer: a reply, or a silent outcome when the model requested
 * it or wrote nothing.
 */
export function decideOutcome(answer: string, rules: ReplyRules): AnswerOutcome {
  const said = rules.hasReasoningTags ? withoutReasoning(answer) : answer;
  const { text, target } = takeReplyTags(said);
  const reply = withoutTokens(text, rules.heartbeatAckCharsMax);
  return reply === '' ? SILENT : answeredWith(reply, target);
}

/** With this reply, whatever is in it. */
export function answeredWith(reply: string, replyTarget: ReplyTarget | null = null): AnswerOutcome {
  return { status: 'completed', messageStatus: 'answered', reply, replyTarget };
}

/**
 * A text without tags, also without the silent tokens at its edges; empty when it has no other
 * text.
 */
export function withoutTokens(text: string, heartbeatAckCharsMax: number | null): string {
  const reply = interpretReply(text);
  if (reply.kind === 'silent') return '';
  const rest = withoutHeartbeats(reply.text, heartbeatAckCharsMax);
  // Under a token of heartbeats there may be a silent one.
  return rest === text.trim() ? rest : withoutTokens(rest, heartbeatAckCharsMax);
}

function withoutHeartbeats(text: string, ackCharsMax: number | null): string {
  if (ackCharsMax === null) return withoutHeartbeatToken(text);
  const poll = readHeartbeatAnswer(text, ackCharsMax);
  return poll.isAck ? '' : poll.text.trim();
}

// Reasoning that a model was instructed to write in tags: of `<think>...</think><final>...</final>`
// only the inside of `<final>` is a reply. A text is read in pieces by two filters: the first
// removes the reasoning, the second finds the reply in the rest. Of other models only a first tag
// is no text, where their server leaves thoughts in it (src/model/stream/tidy/think-tags.ts).

// Attributes and blanks in a tag are bounded, and hold no `<`: no stretch of a text is read twice.
const OPEN_THINK = /<(think(?:ing)?|thought)(?:\s[^<>]{0,200})?>/gi;
/** A text that may become a tag when it continues. */
const OPEN_THINK_PART =
  /<(?:t|th|thi|thin|think|thinki|thinkin|thinking|tho|thou|thoug|though|thought)?$|<(?:think(?:ing)?|thought)\s[^<>]{0,200}$/i;
const STRAY_CLOSE = /^[^]*<\/(?:think(?:ing)?|thought)\s{0,20}>/i;
const FINAL = /<final/gi;

const OPEN_FINAL = /<final(?:\s[^<>]{0,200})?>/gi;
const OPEN_FINAL_PART = /<(?:f|fi|fin|fina|final)?$|<final\s[^<>]{0,200}$/i;
const CLOSE_FINAL = /<\/final\s{0,20}>/gi;
const CLOSE_FINAL_PART = /<(?:\/|\/f|\/fi|\/fin|\/fina|\/final\s{0,20})?$/i;

/**
 * What of an answer the user is shown: the inside of `<final>`, else the text outside of `<think>`.
 * A tag that is not closed extends to the end. Only for models that were instructed to use the
 * tags: for others they are text.
 */
export function withoutReasoning(text: string): string {
  return filterWhole(createReasoningFilter(), text).trim();
}

/**
 * As `withoutReasoning`, but for blanks at the ends. Text outside of `<final>` is certain only when
 * the text has ended.
 */
export function createReasoningFilter(): TextFilter {
  return chainFilters([createThinkFilter(), createFinalFilter()]);
}

/** Takes `<think>...</think>` out. */
function createThinkFilter(): TextFilter {
  let pending = '';
  /** The name of the open `<think>` tag at the beginning of `pending`; null: none is open. */
  let open: string | null = null;
  /** Up to here nothing was found. */
  let searched = 0;

  const drop = (length: number): void => {
    pending = pending.slice(length);
    searched = 0;
  };
  return {
    push(piece) {
      pending += piece;
      let done = '';
      for (;;) {
        const tag = find(pending, open === null ? OPEN_THINK : compileClose(open), searched);
        if (tag === null) break;
        if (open === null) {
          open = tag[1] ?? '';
          done += pending.slice(0, tag.index);
          drop(tag.index);
          searched = tag[0].length;
        } else {
          open = null;
          drop(tag.index + tag[0].length);
        }
      }
      if (open !== null) {
        searched = Math.max(searched, partAt(pending, compileClosePart(open), searched));
        return done;
      }
      const heldFrom = partAt(pending, OPEN_THINK_PART, 0);
      done += pending.slice(0, heldFrom);
      drop(heldFrom);
      return done;
    },
    end: () => withoutUnclosed(pending),
  };
}

/**
 * The rest of a text without its reasoning: one that is not closed ends where the reply begins, or
 * with the text.
 */
function withoutUnclosed(text: string): string {
  let rest = '';
  let at = 0;
  const endless = new Set<string>();
  for (let open = find(text, OPEN_THINK, at); open !== null; open = find(text, OPEN_THINK, at)) {
    rest += text.slice(at, open.index);
    const name = (open[1] ?? '').toLowerCase();
    const inside = open.index + open[0].length;
    const close = endless.has(name) ? null : find(text, compileClose(name), inside);
    // An end that is not found after one tag is not found after the next.
    if (close === null) endless.add(name);
    at = close === null ? (find(text, FINAL, inside)?.index ?? text.length) : close.index + close[0].length;
  }
  return rest + text.slice(at);
}

/** Finds the reply in a text without reasoning. */
function createFinalFilter(): TextFilter {
  let pending = '';
  let place: 'before' | 'inside' | 'behind' = 'before';
  /** Up to here nothing was found. */
  let searched = 0;

  return {
    push(piece) {
      pending += piece;
      if (place === 'before') {
        const open = find(pending, OPEN_FINAL, searched);
        if (open === null) {
          searched = partAt(pending, OPEN_FINAL_PART, searched);
          return '';
        }
        place = 'inside';
        pending = pending.slice(open.index + open[0].length);
        searched = 0;
      }
      let done = '';
      for (
        let close = find(pending, CLOSE_FINAL, searched);
        close !== null;
        close = find(pending, CLOSE_FINAL, searched)
      ) {
        // Only the last one ends the reply: one before it is a word of it.
        done += pending.slice(0, close.index);
        pending = pending.slice(close.index);
        searched = close[0].length;
        place = 'behind';
      }
      const heldFrom = partAt(pending, CLOSE_FINAL_PART, searched);
      if (place === 'behind') {
        searched = heldFrom;
        return done;
      }
      done += pending.slice(0, heldFrom);
      pending = pending.slice(heldFrom);
      searched = 0;
      return done;
    },
    end() {
      if (place === 'before') return pending.replace(STRAY_CLOSE, '').replace(CLOSE_FINAL, '');
      return place === 'inside' ? pending : '';
    },
  };
}

function compileClose(name: string): RegExp {
  return new RegExp(`</${name}\\s{0,20}>`, 'gi');
}

function compileClosePart(name: string): RegExp {
  return new RegExp(`<[^<>]{0,${name.length + 1}}$|</${name}\\s{0,20}$`, 'i');
}

function find(text: string, pattern: RegExp, from: number): RegExpExecArray | null {
  pattern.lastIndex = from;
  return pattern.exec(text);
}

/** Where, from a place on, the end of the text may become something; its length when it cannot. */
function partAt(text: string, pattern: RegExp, from: number): number {
  const at = text.slice(from).search(pattern);
  return at < 0 ? text.length : from + at;
}

export const REASONING_LEVELS = ['off', 'on', 'stream'] as const;

export type ReasoningLevel = (typeof REASONING_LEVELS)[number];

/** The level that a word names, in any case; null when it is none. */
export function parseReasoningLevel(word: string): ReasoningLevel | null {
  return REASONING_LEVELS.find((level) => level === word.trim().toLowerCase()) ?? null;
}

/**
 * The level of a session; null: it has no setting. Other values are from rows of a later version.
 */
export function toReasoning(level: string | null): ReasoningLevel {
  return parseReasoningLevel(level ?? '') ?? 'off';
}

/** A reply preceded by the thinking of its answer; the reply alone when there was none. */
export function withReasoning(reply: string, answer: readonly ContentBlock[], hasReasoningTags: boolean): string {
  const thoughts = answer.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : []));
  const tagged = hasReasoningTags ? taggedReasoning(joinText(answer)) : [];
  const shown = [...thoughts, ...tagged].map((thought) => thought.trim()).filter((thought) => thought !== '');
  return shown.length === 0 ? reply : `Reasoning:\n${shown.join('\n\n')}\n\n${reply}`;
}

/**
 * The text inside `<think>`; one that is not closed ends where `<final>` begins, or with the text.
 * One walk over it.
 */
function taggedReasoning(text: string): string[] {
  const lower = text.toLowerCase();
  const found: string[] = [];
  for (let from = 0; ;) {
    OPEN_THINK.lastIndex = from;
    const open = OPEN_THINK.exec(text);
    if (open === null) return found;
    const begin = open.index + open[0].length;
    const close = lower.indexOf(`</${(open[1] ?? '').toLowerCase()}`, begin);
    const final = close === -1 ? lower.indexOf('<final>', begin) : close;
    const end = final === -1 ? text.length : final;
    found.push(text.slice(begin, end));
    from = end;
  }
}
