// What a search finds.
import { z } from 'zod';
import { SEARCH_KINDS } from '../features/search/rules.ts';
import { entry } from './transcripts.ts';
import { count, iso, sessionKey, sessionTitle, text, uuid } from './fields.ts';

export const searchHit = z.strictObject({
  id: uuid.describe('The id of the hit in the search'),
  kind: z.enum(SEARCH_KINDS).describe('What has the words: a message, a reply, or the error of a turn'),
  sessionKey,
  sessionTitle,
  sessionLabel: text.nullable().describe('The label of the session; null: it has none'),
  turnId: uuid.describe('The turn that claimed the message, gave the reply or failed'),
  entryId: uuid.nullable().describe('The entry of the transcript that has the words; null: it is an error'),
  entrySeq: count.nullable().describe('The number of that entry in the session; null: it is an error'),
  transcriptNo: count
    .nullable()
    .describe(
      'The number of the transcript that has the entry, if a reset has ended it; null: it is the current one, or an error',
    ),
  entryState: entry.shape.state
    .nullable()
    .describe('Whether later model requests contain the entry; null: it is an error'),
  at: iso.describe('When the words were written'),
  snippet: z
    .strictObject({
      text: text.describe('At most 240 characters around the first hit'),
      ranges: z
        .array(
          z.strictObject({
            start: count.describe('The position of its first UTF-16 code unit in the text'),
            end: count.describe('The position after its last UTF-16 code unit in the text'),
          }),
        )
        .describe('Where the words are that were searched for'),
    })
    .describe('The place with the words'),
});
export type SearchHit = z.output<typeof searchHit>;
