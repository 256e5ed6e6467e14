// The limits of blocks that bots meet most.
import { isRecord } from '../read-parameters.ts';
import { textOf } from './read-values.ts';
import { Refused } from './refused.ts';
import type { Json } from './workspace.ts';

const BLOCKS_MAX = 50;
const SECTION_CHARS_MAX = 3000;
const LABEL_CHARS_MAX = 75;
const VALUE_CHARS_MAX = 2000;
const BUTTONS_MAX = 25;

/** Returns the blocks; throws `Refused` with the place of each mistake, as Slack does. */
export function checkBlocks(blocks: Json[]): Json[] {
  const faults: string[] = [];
  if (blocks.length > BLOCKS_MAX)
    faults.push(`[ERROR] no more than ${BLOCKS_MAX} items allowed [json-pointer:/blocks]`);
  for (const [index, block] of blocks.entries()) {
    const at = (path: string): string => `[json-pointer:/blocks/${index}/${path}]`;
    if (typeof block.type !== 'string') faults.push(`[ERROR] missing required field: type ${at('')}`);
    if (block.type === 'section' && wordsOf(block.text).length > SECTION_CHARS_MAX)
      faults.push(`[ERROR] must be less than ${SECTION_CHARS_MAX + 1} characters ${at('text/text')}`);
    const elements = block.type === 'actions' ? buttonsOf([block]) : [];
    if (elements.length > BUTTONS_MAX)
      faults.push(`[ERROR] no more than ${BUTTONS_MAX} items allowed ${at('elements')}`);
    for (const [place, { text, value }] of elements.entries()) {
      if (wordsOf(text).length > LABEL_CHARS_MAX)
        faults.push(`[ERROR] must be less than ${LABEL_CHARS_MAX + 1} characters ${at(`elements/${place}/text/text`)}`);
      if (textOf(value).length > VALUE_CHARS_MAX)
        faults.push(`[ERROR] must be less than ${VALUE_CHARS_MAX + 1} characters ${at(`elements/${place}/value`)}`);
    }
  }
  if (faults.length > 0)
    throw new Refused('invalid_blocks', { errors: faults, response_metadata: { messages: faults } });
  return blocks;
}

/** The elements of the rows of buttons, and the buttons beside sections. */
export function buttonsOf(blocks: readonly Json[] = []): Json[] {
  return blocks.flatMap(({ elements, accessory }) => [
    ...(Array.isArray(elements) ? elements.filter(isRecord) : []),
    ...(isRecord(accessory) ? [accessory] : []),
  ]);
}

/** The text of a text object. */
export function wordsOf(text: unknown): string {
  return isRecord(text) ? textOf(text.text) : '';
}
