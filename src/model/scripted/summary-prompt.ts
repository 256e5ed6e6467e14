// What the scripted model makes of a request to condense a conversation: a plausible summary, always the same for the same
// conversation. A test says otherwise beforehand, in a text of the user that is condensed: directives in double angle brackets
// (`<<stall: after=0>>`) mean nothing in a conversation and hold when it is condensed.
import type { Prompt } from './find-prompt.ts';
import type { WireMessage } from './wire.ts';

const REQUEST = '[Compaction request]';
/** Frames what stands for the older part of a conversation. */
const SUMMARY = /^\[Conversation summary\]\n[\s\S]*?^\[End of conversation summary\]$/gm;
const DIRECTIVE = /<<([a-z]+(?::[\s\S]*?)?)>>/g;
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
  return text.includes('[Conversation summary]') ? text.replace(SUMMARY, '').trim() : text;
}

/** True when the conversation begins with a summary. */
export function isCondensed(messages: readonly WireMessage[]): boolean {
  return textOf(messages[0]).includes('[Conversation summary]');
}

function plainSummary(input: string, said: readonly string[]): string {
  const items = itemsOf(input).length;
  const asked = (said.at(-1) ?? '')
    .replaceAll(/<<[\s\S]*?>>|[[\]]/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return [
    `## Decisions\n- ${items} items were condensed by the scripted model.`,
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
