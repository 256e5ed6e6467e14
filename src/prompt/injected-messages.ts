// Messages that plugins put before a history, validated. They are not entries: limits, pruning and compaction ignore them, and later
// changes of the history do not drop them. Roles and pairs are repaired where they join the history.
import { storableValue } from '../core/text.ts';
import type { ContentBlock, ImageBlock, TextBlock } from '../core/content.ts';
import type { ModelMessage } from '../core/model-request.ts';
import { kindOf, PluginValueError, readList, readObject, readText } from './read-contributions.ts';

/** The most messages of one handler, and blocks of one message. */
const MESSAGES_MAX = 200;
const BLOCKS_MAX = 100;
const ID_CHARS_MAX = 100;
const NAME_CHARS_MAX = 128;
/** The provider takes images of 5 MiB, counted in base64. */
const IMAGE_CHARS_MAX = 5 * 1024 * 1024;
/** The types of images that models take. */
export const IMAGE_TYPES: ReadonlySet<unknown> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** A message with the plugin that it is of. */
export interface InjectedMessage extends ModelMessage {
  plugin: string;
}

/**
 * The messages that a plugin returned: `{role: 'user' | 'assistant', content: text | blocks}`, blocks being text, images, tool calls and
 * tool results. Blank ones are left out. Throws `PluginValueError` with the path of the fault.
 */
export function readInjectedMessages(plugin: string, value: unknown, path = 'injectMessages'): InjectedMessage[] {
  if (value === undefined || value === null) return [];
  return readList(value, path, MESSAGES_MAX).flatMap((item, index) => {
    const at = `${path}[${index}]`;
    const { role, content } = readObject(item, at);
    if (role !== 'user' && role !== 'assistant') {
      throw new PluginValueError(
        `${at}.role`,
        `must be "user" or "assistant", not ${JSON.stringify(role) ?? 'nothing'}`,
      );
    }
    const blocks = readContent(content, `${at}.content`);
    return blocks.length === 0 ? [] : [{ plugin, role, content: blocks }];
  });
}

function readContent(value: unknown, path: string): ContentBlock[] {
  if (typeof value === 'string') return textBlocks(value, path);
  return readList(value, path, BLOCKS_MAX).flatMap((item, index) => readBlock(item, `${path}[${index}]`));
}

function readBlock(value: unknown, path: string): ContentBlock[] {
  const block = readObject(value, path);
  switch (block['type']) {
    case 'text':
      return textBlocks(block['text'], `${path}.text`);
    case 'image':
      return [readImage(block, path)];
    case 'tool_use': {
      const id = readWord(block['id'], `${path}.id`, ID_CHARS_MAX);
      const name = readWord(block['name'], `${path}.name`, NAME_CHARS_MAX);
      return [{ type: 'tool_use', id, name, input: readInput(block['input'], path) }];
    }
    case 'tool_result':
      return [readResult(block, path)];
    default:
      throw new PluginValueError(
        `${path}.type`,
        `must be "text", "image", "tool_use" or "tool_result", not ${JSON.stringify(block['type']) ?? 'nothing'}`,
      );
  }
}

function textBlocks(value: unknown, path: string): TextBlock[] {
  if (value === undefined) throw new PluginValueError(path, 'must be a text, not nothing');
  const text = readText(value, path);
  return text === null ? [] : [{ type: 'text', text }];
}

function readImage(block: Record<string, unknown>, path: string): ImageBlock {
  const { type, media_type, data } = readObject(block['source'], `${path}.source`);
  if (type !== 'base64') throw new PluginValueError(`${path}.source.type`, 'must be "base64"');
  if (!IMAGE_TYPES.has(media_type)) {
    throw new PluginValueError(`${path}.source.media_type`, `must be one of ${[...IMAGE_TYPES].join(', ')}`);
  }
  if (typeof data !== 'string' || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
    throw new PluginValueError(`${path}.source.data`, 'must be base64');
  }
  if (data.length > IMAGE_CHARS_MAX) {
    throw new PluginValueError(
      `${path}.source.data`,
      `has ${data.length} characters, more than the ${IMAGE_CHARS_MAX} allowed`,
    );
  }
  return { type: 'image', source: { type, media_type: String(media_type), data } };
}

function readResult(block: Record<string, unknown>, path: string): ContentBlock {
  const { content, is_error } = block;
  const parts =
    typeof content === 'string' ? textBlocks(content, `${path}.content`) : readParts(content, `${path}.content`);
  return {
    type: 'tool_result',
    tool_use_id: readWord(block['tool_use_id'], `${path}.tool_use_id`, ID_CHARS_MAX),
    content: parts.length === 0 ? '(empty)' : parts,
    ...(is_error === true ? { is_error } : {}),
  };
}

function readParts(value: unknown, path: string): (TextBlock | ImageBlock)[] {
  return readList(value, path, BLOCKS_MAX).flatMap((item, index): (TextBlock | ImageBlock)[] => {
    const at = `${path}[${index}]`;
    const part = readObject(item, at);
    return part['type'] === 'image' ? [readImage(part, at)] : textBlocks(part['text'], `${at}.text`);
  });
}

function readWord(value: unknown, path: string, charsMax: number): string {
  if (typeof value === 'string' && value.length <= charsMax && /^[a-zA-Z0-9_-]+$/.test(value)) return value;
  throw new PluginValueError(path, `must be 1 to ${charsMax} of a-z A-Z 0-9 _ -`);
}

function readInput(value: unknown, path: string): unknown {
  const input = readObject(value, `${path}.input`);
  // Values that cannot be written as JSON cannot be sent; the JSON differs from the given value in nothing that matters.
  try {
    return storableValue(JSON.parse(JSON.stringify(input)));
  } catch {
    throw new PluginValueError(`${path}.input`, `must be JSON, not ${kindOf(input)} that cannot be written as JSON`);
  }
}
