// Data sets on the wire: the cases that evaluations ask again, copied from turns or sent as lines.
import { z } from 'zod';
import { isUuid } from '../../core/ids.ts';
import { TURN_STATUSES } from '../../core/statuses.ts';
import { inputOptions } from '../../config/schema-inputs.ts';
import { count as countIn, timeText } from '../../config/schema-scalars.ts';
import { shownTags } from '../../contract/input-options.ts';
import { amount, count, createdAt, iso, text, uuid } from '../../contract/fields.ts';
import { guardedName } from '../../contract/guarded.ts';
import { NAMED, SPLITS } from './rules/cases.ts';

const NAME_CHARS_MAX = 100;
const TEXT_CHARS_MAX = 1_000_000;
const TURNS_MAX = 1_000;
/** The most items of one request. */
export const ITEMS_MAX = 10_000;

export const ITEM_STATES = ['copying', 'ready', 'excluded', 'erased'] as const;

const name = z
  .string()
  .min(1)
  .max(NAME_CHARS_MAX)
  .regex(NAMED, 'letters, digits, `.`, `_` and `-`, and no `/` or space')
  .refine((text) => !isUuid(text), 'a name that is no UUID: data sets are found by their ids, too');

/** A call of a tool with the result that a run gets for it. */
const scriptedCall = z.strictObject({
  name: z.string().min(1).max(200).describe('The name of the tool'),
  input: z.record(z.string(), z.unknown()).describe('Its input; a call with another input has no result'),
  result: z.string().max(TEXT_CHARS_MAX).describe('The text of its result'),
  isError: z.boolean().exactOptional().describe('Whether the result is an error'),
});

/** A line of a file of cases. */
export const datasetLine = z.strictObject({
  input: z.string().min(1).max(TEXT_CHARS_MAX).describe('What the agent is asked'),
  expected: z.unknown().exactOptional().describe('What graders compare with: a text, or JSON'),
  tags: inputOptions.tags.describe('Facts by which results are filtered'),
  metadata: z.record(z.string(), z.unknown()).exactOptional().describe('Anything; it is kept and shown'),
  group: z
    .string()
    .min(1)
    .max(500)
    .exactOptional()
    .describe('Cases of the same group are of one conversation: they are in the same part, and count as one in tests'),
  calls: z
    .array(scriptedCall)
    .max(200)
    .exactOptional()
    .describe('The calls of tools that a run may make, with their results'),
});
export type DatasetLine = z.output<typeof datasetLine>;

/** Which turns become items. */
export const turnChoice = z.strictObject({
  session: z.string().min(1).max(1000).exactOptional().describe('Only turns of this session'),
  agent: z.string().min(1).max(200).exactOptional().describe('Only turns of this agent'),
  status: z.array(z.enum(TURN_STATUSES)).min(1).exactOptional().describe('Only turns in one of these states'),
  tag: inputOptions.tags.describe('Only turns with these tags'),
  score: z
    .string()
    .max(700)
    .exactOptional()
    .describe('Only turns with this score, as name:value; of a thumb down, `thumb:false`'),
  model: z.string().min(1).max(200).exactOptional().describe('Only turns of this model'),
  tool: z.string().min(1).max(200).exactOptional().describe('Only turns that called this tool'),
  code: z.string().min(1).max(200).exactOptional().describe('Only turns that failed with this code'),
  since: timeText.exactOptional().describe('Only turns that started then or later'),
  until: timeText.exactOptional().describe('Only turns that started before'),
  limit: countIn(1, ITEMS_MAX).exactOptional().describe('At most this many, the newest; absent: 1000'),
});
export type TurnChoice = z.output<typeof turnChoice>;

export const datasetRequest = z.strictObject({
  name: name.describe('Its name, which no other has'),
  description: z.string().max(2_000).exactOptional().describe('A text for people'),
  agent: z
    .string()
    .min(1)
    .max(200)
    .exactOptional()
    .describe('The agent that lines are asked of; absent: the default agent'),
  heldBackPercent: countIn(0, 90)
    .exactOptional()
    .describe(
      'How many of a hundred conversations are held back: an evaluation of `split: work` never shows them; absent: 0',
    ),
});

/** One of the three. */
export const datasetItemsRequest = z.strictObject({
  turns: z.array(z.uuid()).min(1).max(TURNS_MAX).exactOptional().describe('The ids of turns'),
  filter: turnChoice.exactOptional().describe('All turns that this finds'),
  items: z
    .array(z.unknown())
    .min(1)
    .max(ITEMS_MAX)
    .exactOptional()
    .describe('Cases, each in the form of a line of a file'),
});

export const dataset = z.strictObject({
  id: uuid.describe('The id of the data set'),
  name: text.describe('The name by which it is found, too; no other data set has it'),
  description: text.nullable().describe('A text for people; null: none'),
  agentId: text.describe('The agent that lines are asked of'),
  version: count.describe('The number of its last version: each addition makes one; 0: it has no items'),
  heldBackPercent: count.describe('How many of a hundred conversations are held back'),
  counts: z
    .strictObject({
      items: count.describe('Items of all kinds'),
      ready: count.describe('Items that can be run'),
      copying: count.describe('Items whose turns are still copied'),
      excluded: count.describe('Items whose turns cannot be asked again; each says why'),
      erased: count.describe('Items that an erasure has emptied'),
      heldBack: count.describe('Ready items in the part that is held back'),
    })
    .describe('The items of the last version'),
  createdBy: guardedName('Who made it: `admin`, or `key:<name>`'),
  createdAt,
  updatedAt: iso.describe('When items were added last'),
});
export type DatasetView = z.output<typeof dataset>;

export const datasetItem = z.strictObject({
  n: count.describe('Its number in the data set, from 1'),
  version: count.describe('The version that it came with; later versions have it, too'),
  state: z.enum(ITEM_STATES).describe('Whether it can be run'),
  excluded: text.nullable().describe('Why it cannot be run, for people; null: it can, or is not copied yet'),
  split: z
    .enum(SPLITS)
    .describe('Its part: the same for all items of a conversation, in every data set of equal `heldBackPercent`'),
  turnId: uuid.nullable().describe('The turn that it was copied from; null: it was sent as a line, or is erased'),
  sessionKey: text.nullable().describe('The session of that turn; null: none'),
  agentId: text.describe('The agent that is asked'),
  input: text
    .nullable()
    .describe('What the agent is asked, the first 2000 characters; null: it is not copied, or erased'),
  expected: z.unknown().describe('What graders compare with; null: nothing'),
  reply: text.nullable().describe('What the turn answered, the first 2000 characters; null: nothing, or it was a line'),
  model: text.nullable().describe('The model that the turn asked; null: it was a line'),
  calls: count.describe('The calls of tools with a recorded result'),
  tags: shownTags,
  metadata: z.record(z.string(), z.unknown()).describe('What came with it'),
  costUsd: amount.describe('What the turn cost in US dollars; null: not known, or it was a line'),
});
export type DatasetItemView = z.output<typeof datasetItem>;

export const itemsAdded = z.strictObject({
  version: count.describe('The version that they are of'),
  added: count.describe('How many items were added; turns that the data set has already are left out'),
});

export const itemFilter = {
  state: z.enum(ITEM_STATES).optional().describe('Only items of the data set in this state'),
  split: z.enum(SPLITS).optional().describe('Only items of this part'),
};
