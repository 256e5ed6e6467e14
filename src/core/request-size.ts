// About how many tokens the parts of a model request have.
import type { ModelRequest } from './model-request.ts';
import { CHARS_PER_TOKEN } from './token-estimate.ts';

type RequestHead = Pick<ModelRequest, 'system' | 'tools'>;

/** Tokens of the tools and the system prompt, and of a message with this text. */
export function promptTokensOf({ system, tools }: RequestHead, message = ''): number {
  const systemChars = system.reduce((chars, { text }) => chars + text.length, 0);
  const toolChars = tools.length === 0 ? 0 : JSON.stringify(tools).length;
  return Math.ceil((systemChars + toolChars + message.length) / CHARS_PER_TOKEN);
}

/** Tokens of what all conversations of the agent begin with: the tools, and the system prompt up to its marker. */
export function prefixTokensOf({ system, tools }: RequestHead): number {
  const last = system.findLastIndex(({ cache_control: marker }) => marker !== undefined);
  return promptTokensOf({ system: system.slice(0, last + 1), tools });
}
