// Makes any tool's answer fit for a transcript: bounded (G28), well-formed text that JSON and the
// model's API accept, no empty blocks (G12). Tools come from plugins too, so an answer of the wrong
// shape is expected, and is an error result.
import { IMAGE_TYPES } from '../prompt/read-contributions.ts';
import type { ImageBlock, TextBlock } from '../core/content.ts';
import { cutMiddle, RESULT_CHARS_MAX } from '../core/content-size.ts';
import { errorOutcome, isLater, type ToolOutcome } from './tool.ts';

/** The most base64 of one image: the provider takes images of 5 MB. */
const IMAGE_CHARS_MAX = 7_000_000;
const BLOCKS_MAX = 50;
export const IMAGES_MAX = 5;
/** The placeholder for an answer without text: the model's API refuses blank blocks. */
const NOTHING = '(empty)';

/**
 * The outcome with its text cut to `charsMax` (a note says how much is missing) and what cannot be
 * sent replaced by a note.
 */
export function boundOutcome(outcome: ToolOutcome, charsMax: number = RESULT_CHARS_MAX): ToolOutcome {
  // The port's types are a promise that a plugin in plain JavaScript may break.
  const { content, isError, endsTurn, isUnknown, later } = (outcome ?? {}) as Partial<
    Record<keyof ToolOutcome, unknown>
  >;
  const flags = {
    isError: isError === true,
    ...(endsTurn === true ? { endsTurn } : undefined),
    ...(isUnknown === true ? { isUnknown } : undefined),
  };
  if (isLater(later)) return { content: '', isError: false, later };
  if (typeof content === 'string') {
    const text = cutText(content, charsMax);
    return { content: text.trim() === '' ? NOTHING : text, ...flags };
  }
  if (!Array.isArray(content)) return errorOutcome('The tool returned nothing that can be shown.');
  return { content: boundBlocks(content, charsMax), ...flags };
}

function boundBlocks(blocks: readonly unknown[], charsMax: number): (TextBlock | ImageBlock)[] {
  const bounded: (TextBlock | ImageBlock)[] = [];
  let charsLeft = charsMax;
  let images = 0;
  for (const block of blocks.slice(0, BLOCKS_MAX)) {
    if (isImage(block) && images < IMAGES_MAX) {
      images++;
      bounded.push(block);
      continue;
    }
    const text = isText(block) ? cutText(block.text, charsLeft) : '[a part that cannot be shown was left out]';
    charsLeft = Math.max(0, charsLeft - text.length);
    if (text.trim() !== '') bounded.push({ type: 'text', text });
  }
  if (blocks.length > BLOCKS_MAX) {
    bounded.push({ type: 'text', text: `[${blocks.length - BLOCKS_MAX} more parts left out]` });
  }
  return bounded.length > 0 ? bounded : [{ type: 'text', text: NOTHING }];
}

function isText(block: unknown): block is TextBlock {
  const { type, text } = (block ?? {}) as Partial<TextBlock>;
  return type === 'text' && typeof text === 'string';
}

function isImage(block: unknown): block is ImageBlock {
  const { type, source } = (block ?? {}) as Partial<ImageBlock>;
  return (
    type === 'image' &&
    source?.type === 'base64' &&
    IMAGE_TYPES.has(source.media_type) &&
    typeof source.data === 'string' &&
    source.data.length <= IMAGE_CHARS_MAX
  );
}

/** Lone surrogates, also those that a cut leaves, are replaced. */
function cutText(text: string, charsMax: number): string {
  return cutMiddle(text, charsMax).toWellFormed();
}
