// What an MCP server has answered, as the result of a tool: all text between marks (G29), images as they are, and a line for what a result cannot have.
import type { CallToolResult } from '@modelcontextprotocol/client';
import { cutMiddle } from '../../core/tool-result-size.ts';
import type { ImageBlock, TextBlock } from '../../core/content.ts';
import { IMAGE_TYPES } from '../../prompt/injected-messages.ts';
import type { ToolOutcome } from '../../tools/tool.ts';
import { untrusted, UNTRUSTED_CHARS_MAX } from '../../tools/untrusted-result.ts';

export function toOutcome(server: string, result: CallToolResult, mark: string): ToolOutcome {
  const { content, structuredContent, isError = false } = result;
  const images = content.flatMap((part) => toImage(part) ?? []);
  const texts = content.filter((part) => toImage(part) === undefined).map(toText);
  // Servers repeat it as text for clients that do not read it.
  if (!content.some(({ type }) => type === 'text') && structuredContent !== undefined)
    texts.push(JSON.stringify(structuredContent));
  const text = cutMiddle(texts.join('\n\n'), UNTRUSTED_CHARS_MAX).trim();
  const shown =
    text === '' && images.length > 0
      ? []
      : [textBlock(untrusted(`Result of ${server}`, text === '' ? '(empty)' : text, mark))];
  const [first] = shown;
  return { content: images.length === 0 && first !== undefined ? first.text : [...shown, ...images], isError };
}

type Part = CallToolResult['content'][number];

function toImage(part: Part): ImageBlock | undefined {
  if (part.type !== 'image' || !IMAGE_TYPES.has(part.mimeType)) return undefined;
  return {
    type: 'image',
    source: { type: 'base64', media_type: part.mimeType as ImageBlock['source']['media_type'], data: part.data },
  };
}

function toText(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
    case 'audio':
      return `[${part.type} of type ${part.mimeType}, ${bytesOf(part.data)} bytes, left out]`;
    case 'resource_link':
      return `[resource ${part.name}: ${part.uri}]`;
    case 'resource': {
      const { uri, mimeType = 'no type' } = part.resource;
      return 'text' in part.resource
        ? `[resource ${uri}]\n${part.resource.text}`
        : `[resource ${uri} of ${mimeType}, ${bytesOf(part.resource.blob)} bytes, left out]`;
    }
    default:
      return '[a part that cannot be shown was left out]';
  }
}

function bytesOf(base64: string): number {
  return Math.floor((base64.length * 3) / 4);
}

function textBlock(text: string): TextBlock {
  return { type: 'text', text };
}
