// The answer of an erasure.
import { z } from 'zod';

/** By schema and field. */
export const ERASURE_DESCRIPTIONS: Readonly<Record<string, string>> = {
  senderId: 'The `sender.id` of the person',
  removed: 'The number of removed rows by table; tables without removed rows are left out',
  files: 'The number of deleted files with outputs of background commands',
  'eraseSubject.sessions': 'What was removed of each session in which only this person wrote',
  'eraseSubject.batchItems':
    'The number of items of ended batches that never became messages, whose texts were removed',
  'eraseSubject.dryRun': 'True: count the rows and remove nothing',
  'eraseSubject.reason': 'Why; stored in the audit log',
  'eraseSubject.channel':
    'Only sessions with messages of this channel. Two channels may use the same id for two people',
  'eraseSubject.shared': 'keep: keep sessions in which other people wrote too; erase: erase them as well',
  'eraseSession.dryRun': 'True: count the rows and remove nothing',
  'eraseSession.reason': 'Why; stored in the audit log',
};

export const erasure = z.strictObject({
  key: z.string(),
  removed: z.record(z.string(), z.int()),
  files: z.int(),
});

export const subjectErasure = z.strictObject({
  senderId: z.string(),
  sessions: z.array(erasure),
  shared: z.array(z.string()).describe('The keys of sessions that were kept, because other people wrote in them too'),
  batchItems: z.int(),
});
