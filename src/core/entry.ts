// A transcript entry: one item of a session's append-only tree. The active path is what the model sees; entries never change
// after they are written except for their `state`, and are never deleted.
import type { ContentBlock } from './content.ts';
import type { EntryId, TurnId } from './ids.ts';

/**
 * What an entry is: `prompt` the assembled input of a turn, `answer` one model answer, `results` the results of the tool
 * calls of the answer before it, `steer` a message that reached a running turn, `summary` what compaction put in place of
 * older entries.
 */
export type EntryKind = 'prompt' | 'answer' | 'results' | 'steer' | 'summary';

/** `active` entries are shown to the model; the others are kept rows with the reason why they are not. */
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
  /** Where a prompt came from when no person wrote it to this session; absent or null: a person did. */
  provenance?: EntryProvenance | null;
}

/** `heartbeat`: a poll. `client`: a client sent it as a part of its history. `inter_session`: another session sent it, by a tool. */
export type EntryProvenance =
  | { kind: 'heartbeat' }
  | { kind: 'client' }
  | { kind: 'inter_session'; sourceSession: string; sourceChannel?: string; sourceTool?: string };

export type PathEntry = Pick<Entry, 'seq' | 'kind' | 'role' | 'content'>;
