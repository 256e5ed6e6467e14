// What an MCP server has answered, as the result of a tool: all text between marks (G29), pictures,
// and a line for what a result cannot have. Whatever the form of an answer is, what a person could
// read in it is shown.
import { canonicalJson, isObject, parseExactly } from '../../core/json.ts';
import { cutHead } from '../../core/text.ts';
import type { ImageBlock, TextBlock } from '../../core/content.ts';
import { cutMiddle } from '../../core/content-size.ts';
import { sniffFormat } from '../../images/fit-image.ts';
import { checkOutput } from '../../model/check-output.ts';
import type { ToolOutcome } from '../../tools/tool.ts';
import { untrusted, UNTRUSTED_CHARS_MAX } from '../../tools/untrusted-result.ts';
import type { SentAnswer } from './server-port.ts';

/** An unknown part with more text is left out. */
const PART_CHARS_MAX = 2_000;
const FAULTS_CHARS_MAX = 1_000;
/** How a picture begins says what it is. */
const HEAD_CHARS = 100;

interface Answered {
  server: string;
  answer: SentAnswer;
  mark: string;
  /** The form of its structured content, as the server says. */
  outputSchema?: Record<string, unknown> | undefined;
}

export async function toOutcome({ server, answer, mark, outputSchema }: Answered): Promise<ToolOutcome> {
  const { result, error } = answer;
  const fields = isObject(result) ? result : {};
  const isError = fields['isError'] === true || fields['resultType'] === 'input_required' || Boolean(error);
  const parts = partsOf(result);
  const images = parts.flatMap((part) => toImage(part) ?? []);
  const texts = parts.filter((part) => toImage(part) === undefined).map(toText);
  const { structuredContent = null } = fields;
  if (structuredContent !== null && !isSaid(structuredContent, texts)) texts.push(toJson(structuredContent));
  if (parts.length === 0 && structuredContent === null) texts.push(...otherFields(fields));
  if (outputSchema !== undefined && !isError) texts.push(...(await findMismatch(structuredContent, outputSchema)));
  if (fields['resultType'] === 'input_required') texts.push('[the tool asks for input, which Holdfast does not give]');
  if (error) texts.push(`[the server has also answered with an error: ${toJson(error)}]`);
  const text = cutMiddle(texts.filter((each) => each !== '').join('\n\n'), UNTRUSTED_CHARS_MAX).trim();
  const shown =
    text === '' && images.length > 0
      ? []
      : [textBlock(untrusted(`Result of ${server}`, text === '' ? '(empty)' : text, mark))];
  const [first] = shown;
  return { content: images.length === 0 && first !== undefined ? first.text : [...shown, ...images], isError };
}

/** The parts of a result, which may be one without a list. */
function partsOf(result: unknown): unknown[] {
  const content = isObject(result) ? result['content'] : result;
  return [content].flat().filter((part) => part !== undefined && part !== null);
}

/** What a result has that has none of the known fields. */
function otherFields({
  content: _none,
  structuredContent: _nor,
  isError: _flag,
  resultType: _kind,
  _meta,
  ...others
}: Record<string, unknown>): string[] {
  const said = Object.entries(others).filter(([, value]) => value !== null);
  return said.length === 0 ? [] : [toJson(Object.fromEntries(said))];
}

/** Servers repeat the structured content as text for clients that do not read it. */
function isSaid(structured: unknown, texts: readonly string[]): boolean {
  const parsed = [...texts, texts.join('')].flatMap((text) => {
    try {
      return [canonicalJson(parseExactly(text))];
    } catch {
      return [];
    }
  });
  return parsed.length > 0 && parsed.includes(toJson(structured, canonicalJson));
}

async function findMismatch(structured: unknown, schema: Record<string, unknown>): Promise<string[]> {
  if (structured === null) return ['[the result has no structured content, although the tool says that it has]'];
  if (!isObject(structured) && schema['type'] !== 'object') return [];
  // A schema that cannot be used says nothing of the result.
  const checked = await checkOutput(toJson(structured), { type: 'json_schema', schema }).catch(() => null);
  if (checked?.kind !== 'unfit') return [];
  const faults = cutHead(checked.faults.join('; '), FAULTS_CHARS_MAX);
  return [`[the structured content does not fit the schema that the tool gives for it: ${faults}]`];
}

/**
 * The picture that a part is, whatever type it says; what it is, and whether it can be shown, is
 * checked later.
 */
function toImage(part: unknown): ImageBlock | undefined {
  const { type, data, resource } = isObject(part) ? part : {};
  const base64 = isObject(resource) ? resource['blob'] : type === 'audio' ? undefined : data;
  if (typeof base64 !== 'string') return undefined;
  const bare = base64.replace(/^\s*data:[^,]{0,100},/, '');
  if (sniffFormat(Buffer.from(cutHead(bare, HEAD_CHARS), 'base64')) === null) return undefined;
  return { type: 'image', source: { type: 'base64', media_type: 'image/png', data: bare } };
}

function toText(part: unknown): string {
  if (!isObject(part)) return typeof part === 'string' ? part : toJson(part);
  const { type, text, data, mimeType, uri, name, resource } = part;
  if (isObject(resource)) return resourceToText(resource);
  if (typeof data === 'string')
    return `[${label(type, 'data')} of ${typed(mimeType)}, ${bytesOf(data)} bytes, left out]`;
  if (type === 'resource_link') return `[resource ${label(name, 'without a name')}: ${label(uri, 'no address')}]`;
  if (text !== undefined && text !== null) return typeof text === 'string' ? text : toJson(text);
  if (type === 'text') return '';
  const json = toJson(part);
  return json.length > PART_CHARS_MAX ? `[a part of ${typed(type)} that cannot be shown was left out]` : json;
}

function resourceToText({ uri, mimeType, text, blob }: Record<string, unknown>): string {
  const name = `resource ${label(uri, 'without an address')}`;
  if (text !== undefined && text !== null) return `[${name}]\n${typeof text === 'string' ? text : toJson(text)}`;
  const bytes = typeof blob === 'string' ? `${bytesOf(blob)} bytes` : 'without content';
  return `[${name} of ${typed(mimeType)}, ${bytes}, left out]`;
}

function label(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise;
}

function typed(value: unknown): string {
  return typeof value === 'string' ? `type ${value}` : 'no type';
}

/** A value with more levels than the stack has is not readable either. */
function toJson(value: unknown, write: (value: unknown) => string | undefined = JSON.stringify): string {
  try {
    return write(value) ?? '';
  } catch {
    return '[a value with too many levels was left out]';
  }
}

function bytesOf(base64: string): number {
  return Math.floor((base64.length * 3) / 4);
}

function textBlock(text: string): TextBlock {
  return { type: 'text', text };
}
