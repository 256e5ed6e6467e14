// Applies text transforms to what a model is sent: the texts of system prompt, messages and tool results, of both roles. Arguments
// of calls and thinking stay, byte for byte: they are signed, or part of what was done.
import { isBlank } from '../storable-text.ts';
import type { ContentBlock } from '../content.ts';
import type { ModelMessage, SystemBlock } from '../model-request.ts';
import { replacingAll, type Replacement } from './replace-text.ts';

export interface RequestTexts {
  system: SystemBlock[];
  messages: ModelMessage[];
}

/** A function that transforms requests; messages without anything to replace stay the same objects. */
export function createRequestTransform(replacements: readonly Replacement[]): (texts: RequestTexts) => RequestTexts {
  if (replacements.length === 0) return (texts) => texts;
  const replace = replacingAll(replacements);
  return ({ system, messages }) => ({
    system: system.map((block) => withText(block, replace)),
    messages: messages.map((message) => transformMessage(message, replace)),
  });
}

function transformMessage(message: ModelMessage, replace: (text: string) => string): ModelMessage {
  const content = message.content.map((block) => transformBlock(block, replace));
  return content.every((block, at) => block === message.content[at]) ? message : { ...message, content };
}

function transformBlock(block: ContentBlock, replace: (text: string) => string): ContentBlock {
  if (block.type === 'text') return withText(block, replace);
  if (block.type !== 'tool_result') return block;
  if (typeof block.content === 'string') {
    const content = replace(block.content);
    return content === block.content ? block : { ...block, content };
  }
  const before = block.content;
  const content = before.map((part) => (part.type === 'text' ? withText(part, replace) : part));
  return content.every((part, at) => part === before[at]) ? block : { ...block, content };
}

function withText<Block extends { text: string }>(block: Block, replace: (text: string) => string): Block {
  const text = filled(replace(block.text));
  return text === block.text ? block : { ...block, text };
}

/** Providers refuse blank texts. */
function filled(text: string): string {
  return isBlank(text) ? '(empty)' : text;
}
