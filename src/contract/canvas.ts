// The canvas of a session on the wire.
import { z } from 'zod';
import { count, iso, text, uuid } from './fields.ts';

export const canvas = z.strictObject({
  title: text.nullable().describe('What the agent calls it; null: it has no title, or nothing is shown'),
  html: text
    .nullable()
    .exactOptional()
    .describe('The page, as the agent wrote it: untrusted; null: nothing is shown. Absent with `html=none`'),
  bytes: count.nullable().describe('The length of the page in UTF-8; null: nothing is shown'),
  turnId: uuid.nullable().describe('The turn that presented it; null: nothing is shown'),
  updatedAt: iso.nullable().describe('When it was presented; null: nothing is shown'),
});
