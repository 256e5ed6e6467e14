// An answer while it is put together: what the events have contained so far, and the value that
// passes through the finishing steps. The arguments of a call stay text until a step reads them.
import { cutHead, isBlank, storableText } from '../../core/text.ts';
import type { BlockOrigin, ContentBlock } from '../../core/content.ts';
import type { AnswerRepair, ModelMessage, ModelStopReason, Usage } from '../../core/model-request.ts';
import type { CallIdForm } from '../../history/provider-family.ts';
import type { Replacement } from './replace-text.ts';

/** The inputs of the finishing steps in addition to the answer's events. */
export interface AnswerRules {
  /** The tools that the model was given. */
  tools: readonly { name: string }[];
  /** The request; the calls in its answers show which ids are taken and what was tried before. */
  messages: readonly ModelMessage[];
  /** Who is asked, and the form in which it is given ids that are not its own. */
  author: { provider: string; model: string; callIds: CallIdForm };
  /** The number of this call in its turn, from 1: ids that are made up differ from call to call. */
  callNo: number;
  /** The answer in a row with which calling the same unknown tool ends the turn; 0: never. */
  unknownToolThreshold: number;
  /** The replacements in the text of the answer, streamed or not. */
  replacements: readonly Replacement[];
  /**
   * Puts the arguments of a call right that are no JSON; null when they cannot be. Must not throw.
   */
  repairArguments: (raw: string) => Record<string, unknown> | null;
  /** Decodes a text of arguments where the provider encodes them; null: it does not. */
  decodeText: ((text: string) => string) | null;
}

/** A call whose arguments are still text. */
export interface DraftCall {
  type: 'tool_use';
  id: string;
  /** The id as it arrived: it may contain the name of the tool. */
  wireId: string;
  name: string;
  /** The arguments as they came; empty when none came. */
  raw: string;
  /** The arguments once they are read; null: not yet, or not possible. */
  input: Record<string, unknown> | null;
  origin?: BlockOrigin;
}

export type DraftBlock = Exclude<ContentBlock, { type: 'tool_use' }> | DraftCall;

/** The value that goes down the steps. */
export interface DraftAnswer {
  blocks: readonly DraftBlock[];
  /** The stop reason as the provider wrote it. */
  wireStopReason: string;
  stopReason: ModelStopReason;
  usage: Usage;
  repairs: readonly AnswerRepair[];
  /** Raw arguments that nothing could be made of, by call id. */
  malformedInputs: Readonly<Record<string, string>>;
}

const REPAIR_CHARS_MAX = 200;

export function noteRepair(answer: DraftAnswer, repair: AnswerRepair): DraftAnswer {
  const was = cutHead(storableText(repair.was), REPAIR_CHARS_MAX);
  return { ...answer, repairs: [...answer.repairs, { ...repair, was }] };
}

export function listCalls(answer: DraftAnswer): DraftCall[] {
  return answer.blocks.filter((block): block is DraftCall => block.type === 'tool_use');
}

/**
 * Puts each call through `change`, in order. A call that is returned as another object is changed;
 * `repair` is the note about that (absent: none). The answer itself is returned when nothing
 * changed.
 */
export function changeCalls(
  answer: DraftAnswer,
  change: (call: DraftCall) => DraftCall,
  repair?: (before: DraftCall, after: DraftCall) => AnswerRepair,
): DraftAnswer {
  let noted = answer;
  let blocks: DraftBlock[] | null = null;
  for (const [at, block] of answer.blocks.entries()) {
    if (block.type !== 'tool_use') continue;
    const after = change(block);
    if (after === block) continue;
    blocks ??= [...answer.blocks];
    blocks[at] = after;
    if (repair !== undefined) noted = noteRepair(noted, repair(block, after));
  }
  return blocks === null ? answer : { ...noted, blocks };
}

/** An answer that ends with a note of Holdfast instead of its calls: its text stays. */
export function endWithNote(answer: DraftAnswer, note: string, stopReason: ModelStopReason): DraftAnswer {
  const said = answer.blocks.filter((block) => block.type === 'text' && !isBlank(block.text));
  return { ...answer, blocks: [...said, { type: 'text', text: note }], stopReason, malformedInputs: {} };
}
