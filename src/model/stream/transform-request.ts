// Applies text transforms to what a model is sent: the texts of system prompt, messages and tool results, of both roles. Arguments
// of calls and thinking stay, byte for byte: they are signed, or part of what was done.
import { isBlank } from '../../core/text.ts';
import { changeContent, changeEach, type ContentBlock } from '../../core/content.ts';
import type { ModelMessage, SystemBlock } from '../../core/model-request.ts';
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
    messages: messages.map((message) => changeContent(message, (block) => transformBlock(block, replace))),
  });
}

function transformBlock(block: ContentBlock, replace: (text: string) => string): ContentBlock {
  if (block.type === 'text') return withText(block, replace);
  if (block.type !== 'tool_result') return block;
  if (typeof block.content === 'string') {
    const content = replace(block.content);
    return content === block.content ? block : { ...block, content };
  }
  const content = changeEach(block.content, (part) => (part.type === 'text' ? withText(part, replace) : part));
  return content === block.content ? block : { ...block, content: [...content] };
}

function withText<Block extends { text: string }>(block: Block, replace: (text: string) => string): Block {
  const replaced = replace(block.text);
  // Providers refuse blank texts.
  const text = isBlank(replaced) ? '(empty)' : replaced;
  return text === block.text ? block : { ...block, text };
}
