// Scores: what people think of turns, as the API takes and shows it.
import { z } from 'zod';
import { createdAt, flag, iso, sessionKey, text, uuid } from './fields.ts';
import { guarded } from './guarded.ts';
import { VALUES } from './queries.ts';

const NAME_CHARS_MAX = 100;
/** An index has the values. */
const VALUE_CHARS_MAX = 500;
const NOTE_CHARS_MAX = 10_000;
const PERSON_CHARS_MAX = 200;

/** The score that a thumb is: true for 👍, false for 👎. */
export const THUMB = 'thumb';

export const COUNTED_BY = ['score', 'agent', 'author', 'day'] as const;
export type CountedBy = (typeof COUNTED_BY)[number];

const value = z.union([z.number(), z.boolean(), z.string().min(1).max(VALUE_CHARS_MAX)]);
export type ScoreValue = z.output<typeof value>;

const NAME = `The name of the score, such as \`helpful\`; of a thumb, \`${THUMB}\``;

export const score = z.strictObject({
  id: uuid.describe('The id of the score'),
  sessionKey,
  turnId: uuid.describe('The turn that is judged'),
  messageId: uuid.nullable().describe('The message of the turn that is judged; null: the turn'),
  score: text.describe(NAME),
  value: value.describe('What the person says: a number, true or false, or a text'),
  note: text.nullable().describe('What the person wrote; null: nothing'),
  by: text
    .nullable()
    .describe(
      'Who judged: the name of the API key, the `by` of the request, or the person in a chat; null: another key, hidden from a key with a scope',
    )
    .register(guarded, { as: 'author' }),
  source: text.describe('`api`, or the channel in which a person reacted with 👍 or 👎'),
  createdAt,
  updatedAt: iso.describe('When its author changed it last'),
});
export type ScoreView = z.output<typeof score>;

const words = (charsMax: number) => z.string().trim().min(1).max(charsMax);

/** A filter separates the name from the value by a colon. */
const name = words(NAME_CHARS_MAX).regex(/^[^:]*$/, 'expected a name without a colon');

export const scoreRequest = z.strictObject({
  score: name.describe(`${NAME}. What the same person has said under it before is replaced`),
  value: value.describe('What the person says: a number, true or false, or a text'),
  note: words(NOTE_CHARS_MAX).exactOptional().describe('A text for those who read the score'),
  messageId: z.uuid().exactOptional().describe('The message of the turn that is judged; absent: the turn'),
  by: words(PERSON_CHARS_MAX)
    .exactOptional()
    .describe('Who judges, if the program has asked its own user; absent: the name of the API key'),
});

/** As JSON writes one: `007` and `0x10` are texts. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** A value in a text, where `true`, `false` and numbers are not quoted. */
export function readScoreValue(said: string): ScoreValue {
  if (said === 'true' || said === 'false') return said === 'true';
  return NUMBER.test(said) && Number.isFinite(Number(said)) ? Number(said) : said;
}

/** Scores of this name with one of these values. */
export interface NamedValues {
  name: string;
  values: ScoreValue[];
}

/**
 * A score as `name:value` in a query; the value may have colons, too. `5` is a number, or that
 * text.
 */
export const scoreText = z
  .string()
  .max(NAME_CHARS_MAX + 1 + VALUE_CHARS_MAX)
  .regex(/^\s*[^:\s][^:]*:./s, 'expected the name of a score, a colon and its value, such as helpful:true')
  .transform((said): NamedValues => {
    const colon = said.indexOf(':');
    const value = said.slice(colon + 1);
    return { name: said.slice(0, colon).trim(), values: [...new Set([value, readScoreValue(value)])] };
  })
  .register(VALUES, { type: 'string' });

export const scoreRemoved = z.strictObject({ id: uuid.describe('The id of the score that was removed') });

const number = z.int().min(0);

export const scoreCounts = z.strictObject({
  items: z
    .array(
      z.strictObject({
        name: text
          .nullable()
          .describe(
            'The score, the agent or the author, or the day in UTC; null: other keys, hidden from a key with a scope',
          ),
        good: number.describe('Those that are true or above 0'),
        bad: number.describe('Those that are false or below 0'),
        count: number.describe('All of them'),
        average: z.number().nullable().describe('The average of those that are numbers; null: none is'),
      }),
    )
    .describe('At most 200 groups, those with the most scores first; days newest first'),
  isCapped: flag.describe('Whether there are more scores than were read, the newest 50,000'),
});
export type ScoreCounts = z.output<typeof scoreCounts>;
