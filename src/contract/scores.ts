// Scores: what people think of turns, as the API takes and shows it.
import { z } from 'zod';
import { createdAt, flag, iso, sessionKey, text, uuid } from './fields.ts';

const LABEL_CHARS_MAX = 100;
const NOTE_CHARS_MAX = 10_000;
const AUTHOR_CHARS_MAX = 200;

/** How a score is found: by its sign. */
export const SCORE_SIGNS = ['good', 'bad'] as const;
export type ScoreSign = (typeof SCORE_SIGNS)[number];

export const COUNTED_BY = ['agent', 'label', 'author', 'day'] as const;
export type CountedBy = (typeof COUNTED_BY)[number];

const SCORE = 'From -1 (bad) to 1 (good); a thumb is -1 or 1';

export const score = z.strictObject({
  id: uuid.describe('The id of the score'),
  sessionKey,
  turnId: uuid.describe('The turn that is judged'),
  messageId: uuid.nullable().describe('The message of the turn that is judged; null: the turn'),
  score: z.number().min(-1).max(1).nullable().describe(`${SCORE}; null: there are only words`),
  label: text.nullable().describe('A short word for what is good or bad; null: none'),
  note: text.nullable().describe('What the person wrote; null: nothing'),
  author: text.describe('Who judged: the name of the API key, the `author` of the request, or the person in a chat'),
  source: text.describe('`api`, or the channel in which a person reacted with 👍 or 👎'),
  createdAt,
  updatedAt: iso.describe('When its author changed it last'),
});
export type ScoreView = z.output<typeof score>;

const words = (charsMax: number) => z.string().trim().min(1).max(charsMax).exactOptional();

export const scoreRequest = z
  .strictObject({
    turnId: z.uuid().exactOptional().describe('The turn to judge; or `messageId`'),
    messageId: z.uuid().exactOptional().describe('The message to judge; the score is one of the turn that answered it'),
    score: z.number().min(-1).max(1).exactOptional().describe(SCORE),
    label: words(LABEL_CHARS_MAX).describe('A short word for what is good or bad, such as `wrong tool`'),
    note: words(NOTE_CHARS_MAX).describe('A text for those who read the score'),
    author: z
      .string()
      .trim()
      .min(1)
      .max(AUTHOR_CHARS_MAX)
      .exactOptional()
      .describe('Who judges, if the program has asked its own user; absent: the name of the API key'),
  })
  .refine(({ turnId, messageId }) => (turnId === undefined) !== (messageId === undefined), {
    error: 'expected turnId or messageId, one of them',
    path: ['turnId'],
  })
  .refine(({ score: value, label, note }) => [value, label, note].some((each) => each !== undefined), {
    error: 'expected a score, a label or a note',
    path: ['score'],
  });

export const scoreRemoved = z.strictObject({ id: uuid.describe('The id of the score that was removed') });

const number = z.int().min(0);

export const scoreCounts = z.strictObject({
  items: z
    .array(
      z.strictObject({
        name: text.nullable().describe('The agent, label or author, or the day in UTC; null: scores without a label'),
        good: number.describe('Scores above 0'),
        bad: number.describe('Scores below 0'),
        count: number.describe('All of them'),
        average: z.number().nullable().describe('The average of those with a number; null: none has one'),
      }),
    )
    .describe('At most 200 groups, those with the most scores first; days newest first'),
  isCapped: flag.describe('Whether there are more scores than were read, the newest 50,000'),
});
export type ScoreCounts = z.output<typeof scoreCounts>;
