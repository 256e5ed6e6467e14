// Requests and answers about a session's whole transcript.
import { z } from 'zod';
import { fault } from './faults.ts';
import { AUTHOR_KINDS } from '../core/words.ts';
import { message, session, turn, why } from './views.ts';
import { text, flag, uuid, iso, count, sessionKey, createdAt, startedAt, endedAt } from './fields.ts';
import { waitsFor } from './tool-calls.ts';
import { guarded } from './guarded.ts';

const CALL_STATES = ['running', 'waiting', 'interrupted', 'done', 'failed', 'unknown', 'skipped'] as const;

const entryCall = z.strictObject({
  id: text.describe('The id of the tool call'),
  state: z
    .enum(CALL_STATES)
    .describe(
      'How it ended; `waiting`: it waits for something outside; `interrupted`: its worker is lost, and the turn waits to be resumed; `unknown`: its outcome is not known',
    ),
  words: text
    .nullable()
    .describe(
      'In one line: in an answer, the argument that says most; in results, the first line of the result without what was put around it; null: it has no words',
    ),
  waitsFor,
  why: why.nullable().describe('Why no worker continues it: why its turn waits; null: one does, or it ended'),
  startedAt: iso.nullable().describe('When it began; null: not known, because the call was not begun or is not kept'),
  endedAt: iso.nullable().describe('When it ended; null: it has not, or that is not known'),
});

export const entry = z.strictObject({
  id: uuid.describe('The id of the entry'),
  seq: count.describe('Its number in the session'),
  parentId: uuid.nullable().describe('The entry before it; null: it is the first'),
  kind: z.enum(['prompt', 'answer', 'results', 'steer', 'summary']).describe('What the entry is'),
  role: z.enum(['user', 'assistant']).describe('Who speaks, as the model sees it'),
  author: z
    .strictObject({
      kind: z
        .enum(AUTHOR_KINDS)
        .describe('`session`: another session; `tools`: the results of calls; `holdfast`: a note of the service'),
      name: text.describe('For people: a name, `Subagent “research”`, or the kind'),
    })
    .describe('Whose words it has'),
  words: text
    .nullable()
    .describe('Its words in one line, without what Holdfast or a channel put around them; null: it has none'),
  content: z
    .array(z.looseObject({ type: text.describe('The type of the block') }))
    .describe(
      "Content blocks in the shapes of Anthropic's Messages API: text, tool_use, tool_result, thinking, image. `origin` of a block is what its model needs back with it",
    ),
  parts: z
    .array(
      z.strictObject({
        name: text.describe('The section or the part of a message that it is'),
        origin: text
          .describe('Whose words it holds: holdfast, configuration, sender, tool:<name>, plugin:<id>')
          .register(guarded, { as: 'origin' }),
        trust: z.enum(['trusted', 'untrusted']).describe('Whether the agent may follow it, or treats it as data'),
        start: count.describe('The position of its first UTF-16 code unit in the text'),
        end: count.describe('The position after its last UTF-16 code unit in the text'),
      }),
    )
    .nullable()
    .describe('What the first text of a prompt was put together from; null: not known, or it is not a prompt'),
  calls: z.array(entryCall).describe('The tool calls in the entry, or those whose results it has, in their order'),
  turnId: uuid.describe('The turn that wrote the entry'),
  state: z
    .enum(['active', 'pruned', 'compacted', 'hidden'])
    .describe('Whether later model requests contain it: only those that are `active`'),
  createdAt,
});
export type EntryView = z.output<typeof entry>;
export type EntryBlock = EntryView['content'][number];

const INSTRUCTIONS_CHARS_MAX = 800;

export const compactRequest = z.strictObject({
  instructions: z.string().max(INSTRUCTIONS_CHARS_MAX).exactOptional().describe('What the summary must keep'),
});

export const compaction = z.strictObject({
  id: uuid.describe('The id of the compaction'),
  sessionKey,
  transcriptNo: count.describe('The number of the transcript, counted from 1'),
  turnId: uuid.describe('The turn that compacted'),
  reason: z.enum(['manual', 'threshold', 'overflow']).describe('What requested the compaction'),
  status: z
    .enum(['running', 'completed', 'failed', 'timedOut', 'restored'])
    .describe('How the compaction ended; `restored`: it was undone'),
  attempt: count.describe('The number of the attempt, counted from 1'),
  tokensBefore: count.describe('Estimated tokens of the context before the compaction'),
  tokensAfter: count.nullable().describe('Estimated tokens of the context after it; null: it did not succeed'),
  summaryEntryId: uuid.nullable().describe('The entry of the summary; null: there is none'),
  retiredEntries: count.describe('The number of entries that the summary replaces'),
  memoryPath: text.nullable().describe('The file to which notes were added; null: none'),
  audit: z.looseObject({}).nullable().describe('Which workspace files later requests still contain; null: not known'),
  error: fault.describe('Why the compaction failed; null: it did not'),
  isRestorable: flag.describe('Whether it can be undone now'),
  startedAt,
  endedAt,
});
export type CompactionView = z.output<typeof compaction>;

export const compactionRequested = z.strictObject({
  message: message.describe('The message that requests the compaction'),
  session: session.describe('The session with the message'),
});

export const compacted = z.strictObject({
  message: message.describe('The message that requested the compaction'),
  turn: turn.nullable().describe('The turn that compacted; null: no turn has claimed the message'),
  compaction: compaction.nullable().describe('The compaction that ran; null: none did'),
});

export const restored = z.strictObject({
  compaction: compaction.describe('The compaction that was undone'),
  session: session.describe('The session with its restored transcript'),
});

export const resetRequest = z.strictObject({
  abort: flag.exactOptional().describe('True: abort a running turn first'),
});

export const reset = z.strictObject({
  session: session.describe('The session with its new transcript'),
  transcriptNo: count.describe('The number of the new transcript, counted from 1'),
  previousTranscriptNo: count.describe('The number of the transcript that was ended'),
});

export const transcript = z.strictObject({
  transcriptNo: count.describe('The number of the transcript, counted from 1'),
  isCurrent: flag.describe('Whether it is the current transcript, which receives new entries'),
  entries: count.describe('The number of its entries'),
  endedAt: iso.nullable().describe('When a reset ended it; null: it is the current one'),
});
export type TranscriptView = z.output<typeof transcript>;

export const forkRequest = z.strictObject({
  key: z.string().min(1).max(1000).describe('The key of the new session'),
  entryId: uuid.exactOptional().describe('The last entry to copy; absent: copy all entries'),
});

export const forked = z.strictObject({
  session: session.describe('The new session'),
  entries: count.describe('The number of copied entries'),
});
