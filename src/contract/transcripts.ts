// Requests and answers about a session's whole transcript.
import { z } from 'zod';
import { fault } from './faults.ts';
import { message, session, turn } from './views.ts';

const INSTRUCTIONS_CHARS_MAX = 800;
const uuid = z.uuid();
const iso = z.iso.datetime();
const count = z.int().min(0);

export const compactRequest = z.strictObject({
  /** Instructions for the summary. */
  instructions: z.string().max(INSTRUCTIONS_CHARS_MAX).exactOptional(),
});

export const compaction = z.strictObject({
  id: uuid,
  sessionKey: z.string(),
  transcriptNo: count,
  turnId: uuid,
  reason: z.enum(['manual', 'threshold', 'overflow']),
  status: z.enum(['running', 'completed', 'failed', 'timedOut', 'restored']),
  attempt: count,
  tokensBefore: count,
  tokensAfter: count.nullable(),
  summaryEntryId: uuid.nullable(),
  retiredEntries: count,
  memoryPath: z.string().nullable(),
  audit: z.looseObject({}).nullable(),
  error: fault,
  isRestorable: z.boolean(),
  startedAt: iso,
  endedAt: iso.nullable(),
});
export type CompactionView = z.output<typeof compaction>;

export const compactionRequested = z.strictObject({ message, session });

export const compacted = z.strictObject({ message, turn: turn.nullable(), compaction: compaction.nullable() });

export const restored = z.strictObject({ compaction, session });

export const resetRequest = z.strictObject({ abort: z.boolean().exactOptional() });

export const reset = z.strictObject({ session, transcriptNo: count, previousTranscriptNo: count });

export const transcript = z.strictObject({
  transcriptNo: count,
  isCurrent: z.boolean(),
  entries: count,
  endedAt: iso.nullable(),
});
export type TranscriptView = z.output<typeof transcript>;

export const forkRequest = z.strictObject({
  /** The key of the new session. */
  key: z.string().min(1).max(1000),
  /** The last entry that is copied; absent: all of them. */
  entryId: uuid.exactOptional(),
});

export const forked = z.strictObject({ session, entries: count });
