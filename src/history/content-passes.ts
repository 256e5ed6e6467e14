// The repair of a message's content, block by block: an ordered list of passes over the content of one entry. Each takes the
// blocks and returns them, the same array when it has nothing to change; none reads other entries, none loses a text. Repairs
// that need several entries (names and pairs of tool calls, the order of roles) is done where entries are joined:
// prepare-history.ts.
import { isBlank, storableValue } from '../core/text.ts';
import type {
  BlockOrigin,
  ContentBlock,
  ImageBlock,
  TextBlock,
  ThinkingBlock,
  ToolResultBlock,
} from '../core/content.ts';
import { changeEach, isThinking, mendThought } from '../core/content.ts';
import type { EntryProvenance } from '../core/entry.ts';
import { modelName, modelOfRef, refOfModel } from '../core/model-ref.ts';
import { faultOfImage } from './image-payload.ts';
import type { FamilyPolicy } from './provider-family.ts';

/** The facts of its entry that a pass gets. */
export interface PassContext {
  role: 'user' | 'assistant';
  policy: FamilyPolicy;
  /** True when the model that is asked wrote this entry itself. */
  isOwn: boolean;
  /** The name of the model that is asked, with its provider; absent: none that needs something back with its blocks. */
  model?: string;
  provenance: EntryProvenance | null;
  /** Images that are shown after the content. */
  images: readonly ContentBlock[];
  /** True when its images are left out, because the server refused a request for its size. */
  omitsImages?: boolean;
}

/** A pass over one entry's content. Pure; returns its argument when nothing changes. */
type ContentPass = (content: readonly ContentBlock[], context: PassContext) => readonly ContentBlock[];

// The order matters: some passes take out what others left over.
export const CONTENT_PASSES: readonly ContentPass[] = [
  markInterSession,
  showImages,
  keepBlocksOfRole,
  mendText,
  omitBadImages,
  dropForeignOrigins,
  dropOtherThinking,
  checkSignatures,
  dropForeignSignatures,
  dropBrokenToolCalls,
  stripDetails,
  dropBlankText,
  dropTrailingThinking,
];

/** The blocks of an entry that a provider accepts; possibly none. */
export function cleanContent(content: readonly ContentBlock[], context: PassContext): readonly ContentBlock[] {
  return CONTENT_PASSES.reduce((blocks, pass) => pass(blocks, context), content);
}

const BLOCKS_OF: Readonly<Record<PassContext['role'], ReadonlySet<ContentBlock['type']>>> = {
  user: new Set(['text', 'image', 'tool_result']),
  assistant: new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']),
};

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const REASONING_SIGNATURE = /^rs_|"id":"rs_/;
const SIGNATURE_FIELDS = ['thought_signature', 'thoughtSignature'];

/** True when a call can be sent to a provider: it has a name and an id, and its input is an object. */
export function isWholeToolCall({ id, name, input }: { id: unknown; name: unknown; input: unknown }): boolean {
  if (typeof id !== 'string' || id === '' || typeof name !== 'string' || !TOOL_NAME.test(name)) return false;
  return typeof input === 'object' && input !== null && !Array.isArray(input);
}

/** Marks a message of another session with its origin, so that the model does not mistake it for the user's. */
function markInterSession(content: readonly ContentBlock[], { provenance }: PassContext): readonly ContentBlock[] {
  if (provenance?.kind !== 'inter_session') return content;
  const { sourceSession, sourceChannel, sourceTool } = provenance;
  const facts = Object.entries({ sourceSession, sourceChannel, sourceTool }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value.replaceAll(/[^\w:.@+-]/g, '_')}`],
  );
  const marker = ['[Inter-session message]', ...facts].join(' ');
  const at = content.findIndex((block) => block.type === 'text');
  const text = content[at];
  if (text?.type !== 'text') return [{ type: 'text', text: marker }, ...content];
  return content.with(at, { type: 'text', text: `${marker}\n${text.text}` });
}

function showImages(content: readonly ContentBlock[], { images }: PassContext): readonly ContentBlock[] {
  return images.length === 0 ? content : [...content, ...images];
}

function keepBlocksOfRole(content: readonly ContentBlock[], { role }: PassContext): readonly ContentBlock[] {
  return keep(content, (block) => BLOCKS_OF[role].has(block.type));
}

/** Halves of characters and NULs, which providers refuse: earlier versions stored them, and tools may return them. */
function mendText(content: readonly ContentBlock[]): readonly ContentBlock[] {
  return changeEach(content, (block) => (isThinking(block) ? mendThought(block) : storableValue(block)));
}

/** Replaces an image that the provider would refuse, or that is left out, by a note. */
function omitBadImages(
  content: readonly ContentBlock[],
  { omitsImages = false }: PassContext,
): readonly ContentBlock[] {
  const imageOrNote = (image: ImageBlock) => noteOf(omitsImages ? TOO_LARGE : faultOfImage(image)) ?? image;
  return changeEach(content, (block) => {
    if (block.type === 'image') return imageOrNote(block);
    if (block.type !== 'tool_result' || typeof block.content === 'string') return block;
    const inner = changeEach(block.content, (part) => (part.type === 'image' ? imageOrNote(part) : part));
    return inner === block.content ? block : { ...block, content: [...inner] };
  });
}

const TOO_LARGE = 'the server of the model takes no request of this size';

function noteOf(fault: string | null): TextBlock | null {
  if (fault === null) return null;
  const what = fault === 'empty' ? 'empty image payload' : `image payload: ${fault}`;
  return { type: 'text', text: `[session:history] omitted ${what}` };
}

/** What another model needs back means nothing to this one, and its API refuses fields that it does not know. */
function dropForeignOrigins(content: readonly ContentBlock[], { model }: PassContext): readonly ContentBlock[] {
  return changeEach(content, (block) => {
    const origin = originOf(block);
    return origin === undefined || modelName(modelOfRef(refOfModel(origin))) === model
      ? block
      : without(block, ['origin']);
  });
}

/** Thinking is of use to the model that thought it; to any other it is at best ignored. */
function dropOtherThinking(content: readonly ContentBlock[], { policy, isOwn }: PassContext): readonly ContentBlock[] {
  switch (policy.thinking) {
    case 'own':
      return isOwn ? content : keep(content, (block) => !isThinking(block));
    case 'signed':
      return keep(content, (block) => block.type !== 'redacted_thinking');
    case 'reasoning':
      return keep(content, (block) => !isThinking(block) || hasOrigin(block) || isReasoningItem(block));
    case 'never':
      return keep(content, (block) => !isThinking(block));
    default:
      return policy.thinking satisfies never;
  }
}

/** A thought without a valid signature cannot be replayed as one; where the family allows it, it stays as text. */
function checkSignatures(content: readonly ContentBlock[], { policy }: PassContext): readonly ContentBlock[] {
  if (policy.thinking === 'signed') {
    return changeEach(content, (block) =>
      block.type === 'thinking' && !hasOrigin(block) && !BASE64.test(block.signature)
        ? { type: 'text', text: block.thinking }
        : block,
    );
  }
  return keep(content, (block) => block.type !== 'thinking' || hasOrigin(block) || block.signature !== '');
}

/** Signatures that another provider put on texts and calls mean nothing to this one, or are refused. */
function dropForeignSignatures(content: readonly ContentBlock[], { policy }: PassContext): readonly ContentBlock[] {
  return policy.dropsForeignSignatures ? changeEach(content, (block) => without(block, SIGNATURE_FIELDS)) : content;
}

// A result without its call goes later, when the calls are paired.
function dropBrokenToolCalls(content: readonly ContentBlock[]): readonly ContentBlock[] {
  return keep(content, (block) => block.type !== 'tool_use' || isWholeToolCall(block));
}

/** Removes fields of a tool result that the model must not see. */
function stripDetails(content: readonly ContentBlock[]): readonly ContentBlock[] {
  return changeEach(content, (block) => (block.type === 'tool_result' ? without(block, ['details']) : block));
}

function dropBlankText(content: readonly ContentBlock[]): readonly ContentBlock[] {
  const kept = keep(content, (block) => block.type !== 'text' || !isBlank(block.text));
  return changeEach(kept, (block) => (block.type === 'tool_result' ? withoutBlankText(block) : block));
}

function withoutBlankText(block: ToolResultBlock): ToolResultBlock {
  if (typeof block.content === 'string') return block;
  const inner = keep(block.content, (part) => part.type !== 'text' || !isBlank(part.text));
  return inner === block.content ? block : { ...block, content: [...inner] };
}

// A thought needs something after it; reasoning items are refused without what they led to.
function dropTrailingThinking(content: readonly ContentBlock[]): readonly ContentBlock[] {
  const last = content.findLastIndex((block) => !isThinking(block));
  return last === content.length - 1 ? content : content.slice(0, last + 1);
}

function isReasoningItem(block: ContentBlock): block is ThinkingBlock {
  return block.type === 'thinking' && REASONING_SIGNATURE.test(block.signature);
}

function originOf(block: ContentBlock): BlockOrigin | undefined {
  return 'origin' in block ? block.origin : undefined;
}

/** True for a block of the model that is asked: the origins of others are gone by then. */
function hasOrigin(block: ContentBlock): boolean {
  return originOf(block) !== undefined;
}

function without<Block extends object>(block: Block, fields: readonly string[]): Block {
  if (!fields.some((field) => Object.hasOwn(block, field))) return block;
  // Fields that the type of the block does not know.
  return Object.fromEntries(Object.entries(block).filter(([name]) => !fields.includes(name))) as Block;
}

// Most content needs no change: nothing is made until something differs.
function keep<Item>(items: readonly Item[], isKept: (item: Item) => boolean): readonly Item[] {
  for (const item of items) if (!isKept(item)) return items.filter(isKept);
  return items;
}
