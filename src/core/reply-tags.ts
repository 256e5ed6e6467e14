// Tags by which a model says which message its reply answers: `[[reply_to_current]]`, `[[reply_to:<id>]]`. They are removed
// everywhere; nothing else of the text changes except the spaces around a tag.
import { cutHead } from './cut-text.ts';
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
