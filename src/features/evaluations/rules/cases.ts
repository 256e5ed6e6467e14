// What an item of a data set is: a case that was copied from a turn, or sent as a line; and in which
// part of the data set it is.
import type { RequestBase, ModelMessage } from '../../../core/model-request.ts';
import type { ThinkingLevel } from '../../../core/models.ts';
import type { RecordedCall } from '../../tries/rules.ts';

/** Names that fit into an address and a file name. */
export const NAMED = /^[\w][\w.-]*$/;

export const SPLITS = ['work', 'heldBack'] as const;
export type Split = (typeof SPLITS)[number];

/** One answer of the recorded turn that called tools, with what joined the turn after its results. */
export interface RecordedStep {
  calls: RecordedCall[];
  /** True: one of the calls has ended the turn. */
  endsTurn?: true;
  /** The texts of messages that steered the turn here. */
  joined: string[];
}

/** The request of the first call of a turn, as it was sent. */
export interface StoredRequest extends RequestBase {
  messages: ModelMessage[];
  /** The level by which its thinking was chosen; null: not known. */
  level: ThinkingLevel | null;
}

/**
 * The part of an item: decided by its conversation alone, so that what is held back stays held back
 * in every later version and data set of the same percentage.
 */
export function splitOf(group: string, heldBackPercent: number): Split {
  return (hashOf(group) / 2 ** 32) * 100 < heldBackPercent ? 'heldBack' : 'work';
}

/** FNV-1a with the last steps of MurmurHash, so that keys that differ in their ends alone are spread. */
function hashOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
