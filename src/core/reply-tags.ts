// Marks by which a model directs its reply: tags that say which message it answers, and the token that says that it has nothing to say.
// The tags `[[reply_to_current]]` and `[[reply_to:<id>]]` are removed everywhere; nothing else of the text changes except the spaces around a tag.
import { cutHead } from './text.ts';
import { filterWhole, type TextFilter } from './text-filter.ts';

/** The message that a reply answers: the one that started the turn, or one by the platform's id. */
export type ReplyTarget = { kind: 'current' } | { kind: 'message'; id: string };

const TAG = /\[\[[^\S\n]*(?:reply_to_current[^\S\n]*|reply_to[^\S\n]*:([^\]\n]{0,1000}))\]\]/iy;
/** A text that may become a tag when it continues. */
const TAG_PART =
  /\[\[[^\S\n]*(?:|r|re|rep|repl|reply|reply_|reply_t|reply_to_[a-z]{0,7}|reply_to_current[^\S\n]*\]?|reply_to[^\S\n]*(?::[^\]\n]{0,1000}\]?)?)$/iy;
const BLANKS = /[^\S\n]*/y;
const ID_CHARS_MAX = 200;

/**
 * The text without tags, and what the tags say: the last id that is named, else the current message, else null. The spaces
 * after a tag are removed with it; at the end of a line also those before it.
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

/** Removes tags from a text. `onTag` is called with the id of each, empty for the current message; it must not throw. */
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

/** The consecutive tags from a place on; `unfinished` when the following text decides; null: there is none. */
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

// The token by which a model says that it has nothing to say. A reply that is only the token is silent on purpose; a token
// at the edges of a real reply is removed and the rest is sent. Anything else that mentions it is sent as it is.

export const SILENT_REPLY_TOKEN = 'NO_REPLY';

/** The marks that models write around a token, for a class of a pattern: markup, quotes, brackets and the end of a sentence. */
export const TOKEN_MARKS = '*`~_.!…。"\'“”„«»‘’()[\\]';

const PASSES_MAX = 8;
const SILENCE = new RegExp(`^(?:[\\s${TOKEN_MARKS}]*${SILENT_REPLY_TOKEN})+[\\s${TOKEN_MARKS}]*$`, 'i');

export type Reply = { kind: 'silent' } | { kind: 'reply'; text: string };

/**
 * What a model's final text means. Silent: nothing but blanks, the token alone in any case and in marks, or `{"action": "NO_REPLY"}`.
 * Else a reply, without a token at its end (after a blank or `*`) and without tokens glued to its first word.
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
