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
