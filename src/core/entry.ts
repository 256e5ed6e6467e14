// A transcript entry: one item of a session's append-only tree. The active path is what the model
// sees; entries never change after they are written except for their `state`, and are never
// deleted. Its content blocks are its parts, each with a text.
import type { ContentBlock } from './content.ts';
import type { EntryId, TurnId } from './ids.ts';
import { cutPiece } from './text.ts';

/**
 * What an entry is: `prompt` the assembled input of a turn, `answer` one model answer, `results`
 * the results of the tool calls of the answer before it, `steer` a message that reached a running
 * turn, `summary` what compaction put in place of older entries.
 */
export type EntryKind = 'prompt' | 'answer' | 'results' | 'steer' | 'summary';

/**
 * `active` entries are shown to the model; the others are kept rows with the reason why they are
 * not.
 */
export type EntryState = 'active' | 'pruned' | 'compacted' | 'hidden';

export interface Entry {
  id: EntryId;
  /** Position in the session, from 1, without gaps. */
  seq: number;
  /** The entry that this one follows in the tree; null for the first. */
  parentSeq: number | null;
  kind: EntryKind;
  role: 'user' | 'assistant';
  content: ContentBlock[];
  turnId: TurnId;
  /**
   * Where a prompt came from when more than the words of an owner are in it; absent or null:
   * nothing else is.
   */
  provenance?: EntryProvenance | null;
}

/**
 * `heartbeat`: a poll. `others`: of any other input, with words of others. `client`: a client sent
 * it as a part of its history. `transcript`: of the audio of a message, by the place of its
 * attachment. `inter_session`: another session sent it, by a tool.
 */
export type EntryProvenance =
  /** `isOfOthers`: it brought words of others. */
  | { kind: 'heartbeat'; isOfOthers?: true }
  | { kind: 'others' }
  | { kind: 'client' }
  | { kind: 'transcript'; messageId: string; at: number; isFailed?: boolean }
  | { kind: 'inter_session'; sourceSession: string; sourceChannel?: string; sourceTool?: string };

export type PathEntry = Pick<Entry, 'seq' | 'kind' | 'role' | 'content'>;

// The parts of a transcript entry, which are its content blocks: the text of each, and how a long
// one is cut for a page. Offsets are UTF-16 units; a cut never tears a surrogate pair, so pieces
// that follow each other make the whole text.

/**
 * A content block as it is stored: of a shape of Anthropic's Messages API, or of an earlier version
 * of Holdfast.
 */
export type StoredBlock = Readonly<Record<string, unknown>>;

/** The fields of a block that was cut. */
interface Cut {
  omittedChars: number;
  /** Where the whole text is. */
  href: string;
}

/**
 * The text of a part: of a text, of a thinking, the arguments of a call as JSON, the texts of a
 * result, the base64 of an image.
 */
export function readPartText(block: StoredBlock): string {
  const { content, input, source, data } = block;
  for (const text of [block['text'], block['thinking'], content, data]) if (typeof text === 'string') return text;
  if (Array.isArray(content)) return readTexts(content).join('\n');
  if (input !== undefined) return JSON.stringify(input);
  return isBlock(source) && typeof source['data'] === 'string' ? source['data'] : '';
}

function readTexts(content: readonly unknown[]): string[] {
  return content.filter(isBlock).flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
}

/**
 * The block, with at most this many units of its text. The arguments of a call become the beginning
 * of their JSON.
 */
export function cutBlock(block: StoredBlock, charsMax: number, href: string): StoredBlock {
  const { content, source } = block;
  const images = imagesIn(block);
  const text = readPartText(block);
  const hasLongImage = images.some((image) => readPartText(image).length > charsMax);
  if (text.length <= charsMax && !hasLongImage) return block;
  const head = cutPiece(text, 0, charsMax);
  const cut: Cut = { omittedChars: text.length - head.length, href };
  if (Array.isArray(content))
    return {
      ...block,
      content: [{ type: 'text', text: head }, ...images.map((one, at) => emptied(one, `${href}?image=${at + 1}`))],
      ...cut,
    };
  if (isBlock(source)) return { ...block, source: { ...source, data: '' }, ...cut, omittedChars: text.length };
  const field = ['text', 'thinking', 'content', 'data', 'input'].find((name) => block[name] !== undefined) ?? 'text';
  return { ...block, [field]: head, ...cut };
}

/** The images in the result of a tool. */
export function imagesIn({ content }: StoredBlock): StoredBlock[] {
  return Array.isArray(content) ? content.filter(isBlock).filter(({ type }) => type === 'image') : [];
}

/** An image without its bytes. */
function emptied(image: StoredBlock, href: string): StoredBlock {
  const source = isBlock(image['source']) ? image['source'] : {};
  return { ...image, source: { ...source, data: '' }, omittedChars: readPartText(image).length, href };
}

function isBlock(value: unknown): value is StoredBlock {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
