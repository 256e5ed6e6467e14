// What the scripted model makes of a request to compact a conversation: a plausible summary, always
// the same for the same conversation. A test changes it beforehand, in a text of the user that is
// compacted: directives in double angle brackets (`<<stall: after=0>>`) mean nothing in a
// conversation and apply when it is compacted.
import type { Prompt } from './prompt.ts';
import type { WireMessage } from './wire.ts';

const REQUEST = '[Compaction request]';
/** These lines enclose the summary that replaces the older part of a conversation. */
const SUMMARY_START = '[Conversation summary]\n';
const SUMMARY_END = '\n[End of conversation summary]';
const DIRECTIVE = /<<([a-z]+(?::(?:(?!<<)[^])*?)?)>>/g;
const OWN_TEXT = /^(?:reply|fill|empty)/;
const ASKED_CHARS_MAX = 200;

/** The prompt of a compaction request, as directives; null for any other request. */
export function summaryPromptOf(messages: readonly WireMessage[]): Prompt | null {
  const input = textOf(messages.at(-1));
  if (!input.startsWith(REQUEST)) return null;
  const said = itemsOf(input).flatMap(({ user }) => (typeof user === 'string' ? [user] : []));
  const wanted = said.flatMap((text) => [...text.matchAll(DIRECTIVE)].map((match) => match[1] ?? ''));
  const reply = wanted.some((directive) => OWN_TEXT.test(directive)) ? '' : `[[reply: ${plainSummary(input, said)}]]`;
  const script = reply + wanted.map((directive) => `[[${directive}]]`).join('');
  return { texts: [script], key: 'compaction', position: 0, latestTexts: [] };
}

/** A text without the summaries in it. */
export function withoutSummaries(text: string): string {
  if (!text.includes(SUMMARY_START)) return text;
  let rest = '';
  let at = 0;
  for (;;) {
    const start = startOfLine(text, SUMMARY_START, at);
    const end = start < 0 ? -1 : text.indexOf(SUMMARY_END, start);
    if (end < 0) return (rest + text.slice(at)).trim();
    rest += text.slice(at, start);
    at = end + SUMMARY_END.length;
  }
}

/** True when the conversation begins with a summary. */
export function isCompacted(messages: readonly WireMessage[]): boolean {
  return textOf(messages[0]).includes('[Conversation summary]');
}

function startOfLine(text: string, words: string, from: number): number {
  if (text.startsWith(words, from) && (from === 0 || text[from - 1] === '\n')) return from;
  const at = text.indexOf(`\n${words}`, from);
  return at < 0 ? -1 : at + 1;
}

function plainSummary(input: string, said: readonly string[]): string {
  const items = itemsOf(input).length;
  const asked = (said.at(-1) ?? '')
    .replaceAll(/<<(?:(?!<<)[^])*?>>|[[\]]/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return [
    `## Decisions\n- ${items} items were compacted by the scripted model.`,
    '## Open TODOs\n- none',
    '## Constraints/Rules\n- none',
    `## Pending user asks\n- ${asked.slice(0, ASKED_CHARS_MAX) || 'none'}`,
    '## Exact identifiers\n- none',
  ].join('\n\n');
}

function itemsOf(input: string): { user?: unknown }[] {
  const lines = input.split('\n').filter((line) => /^\{"(?:user|assistant|call|tool|failed)":/.test(line));
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as { user?: unknown }];
    } catch {
      return [];
    }
  });
}

function textOf(message: WireMessage | undefined): string {
  const content = message?.content ?? '';
  if (typeof content === 'string') return content;
  return content.map((block) => (block.type === 'text' ? String(block['text']) : '')).join('\n');
}
