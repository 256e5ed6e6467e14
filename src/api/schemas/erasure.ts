// The answer of an erasure.
import { z } from 'zod';

/** By schema and field. */
export const ERASURE_DESCRIPTIONS: Readonly<Record<string, string>> = {
  senderId: 'The `sender.id` of the person',
  removed: 'How many rows were removed, by table; tables of which nothing was removed are missing',
  files: 'How many files with outputs of commands in the background were deleted',
  'subjectErasure.sessions': 'What was removed of each session in which only this person has written',
  'subjectErasure.shared': 'The keys of sessions that were kept, because others have written there too',
  'eraseSubject.dryRun': 'True: count what would be removed, and stop and remove nothing',
  'eraseSubject.reason': 'Why, for the log of changes',
  'eraseSubject.channel':
    'Only sessions with messages of this channel: two channels may use the same id for two people',
  'eraseSubject.shared': 'keep: leave sessions in which others have written too; erase: erase them as well',
  'eraseSession.dryRun': 'True: count what would be removed, and stop and remove nothing',
  'eraseSession.reason': 'Why, for the log of changes',
};

export const erasure = z.strictObject({
  key: z.string(),
  removed: z.record(z.string(), z.int()),
  files: z.int(),
});

export const subjectErasure = z.strictObject({
  senderId: z.string(),
  sessions: z.array(erasure),
  shared: z.array(z.string()),
});
