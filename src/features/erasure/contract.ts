// The answer of an erasure.
import { z } from 'zod';
import { text } from '../../contract/fields.ts';

export const erasure = z.strictObject({
  key: text.describe('The key of the erased session'),
  removed: z.record(text, z.int()).describe('The number of removed rows, by table; without tables that had none'),
  files: z.int().describe('The number of deleted files with outputs of background commands'),
});

export const subjectErasure = z.strictObject({
  senderId: text.describe('The `sender.id` of the person'),
  sessions: z
    .array(erasure)
    .describe('What was removed of each session in which only this person wrote or asked to write: its pairings, too'),
  shared: z.array(text).describe('The keys of sessions that were kept, because other people wrote in them too'),
  batchItems: z.int().describe('The number of items of ended batches, never sent, whose texts were removed'),
});
