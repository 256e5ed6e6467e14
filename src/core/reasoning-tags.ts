// Reasoning that a model was instructed to write in tags: of `<think>...</think><final>...</final>` only the inside of `<final>` is a
// reply. A text is read in pieces by two filters: the first removes the reasoning, the second finds the reply in the rest. Of other models
// only a first tag is no text, where their server leaves thoughts in it (src/model/stream/tidy/think-tags.ts).
import { chainFilters, filterWhole, type TextFilter } from './text-filter.ts';
import { joinText, type ContentBlock } from './content.ts';

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
 * What of an answer the user is shown: the inside of `<final>`, else the text outside of `<think>`. A tag that is not closed
 * extends to the end. Only for models that were instructed to use the tags: for others they are text.
 */
export function withoutReasoning(text: string): string {
  return filterWhole(createReasoningFilter(), text).trim();
}

/** As `withoutReasoning`, but for blanks at the ends. Text outside of `<final>` is certain only when the text has ended. */
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

/** The rest of a text without its reasoning: one that is not closed ends where the reply begins, or with the text. */
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

/** The level of a session; null: it has no setting. Other values are from rows of a later version. */
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

/** The text inside `<think>`; one that is not closed ends where `<final>` begins, or with the text. One walk over it. */
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
