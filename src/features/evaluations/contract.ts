// Evaluations on the wire: what is compared and how it is graded, and what came out.
import { z } from 'zod';
import { THINKING_LEVELS } from '../../core/models.ts';
import { findSchemaFault } from '../../core/response-format.ts';
import { inputOptions } from '../../config/schema-inputs.ts';
import { count as countIn } from '../../config/schema-scalars.ts';
import { limitUsd } from '../../config/schema-service.ts';
import { shownTags } from '../../contract/input-options.ts';
import { fault } from '../../contract/faults.ts';
import { amount, count, createdAt, iso, sessionKey, text, uuid } from '../../contract/fields.ts';
import { guardedName } from '../../contract/guarded.ts';
import { tagText } from '../../contract/queries.ts';
import { NAMED } from './rules/cases.ts';

export const EVALUATION_STATUSES = ['preparing', 'running', 'paused', 'judging', 'ended'] as const;
export const EVALUATION_OUTCOMES = ['completed', 'cancelled', 'failed'] as const;
export const SPLIT_CHOICES = ['work', 'heldBack', 'all'] as const;
export const VERDICTS = ['better', 'worse', 'unknown'] as const;
export const RUN_STATUSES = ['answered', 'diverged', 'failed'] as const;
/** The candidates of an evaluation, and its graders. */
const CANDIDATES_MAX = 8;
const GRADERS_MAX = 20;
/** With those that others join. */
const ALL_GRADERS_MAX = 100;
const REPEATS_MAX = 20;
/** How deep graders are composed. */
const NESTED_MAX = 3;

const name = z.string().min(1).max(60).regex(NAMED, 'letters, digits, `.`, `_` and `-`, and no `/` or space');
const textMax = (charsMax: number) => z.string().min(1).max(charsMax);
const graderName = { name: name.exactOptional().describe('Its name in results; absent: its type') };

/** Any value of JSON, as the document writes it. It keeps integers beyond 2^53, which a union would round. */
const anyValue = z
  .unknown()
  .meta({ type: ['string', 'number', 'boolean', 'object', 'array', 'null'], additionalProperties: true });

/** A call of a tool that a grader looks for. */
const wantedCall = z.strictObject({
  name: textMax(200).describe('The name of the tool'),
  input: z
    .record(z.string(), z.unknown())
    .exactOptional()
    .describe('What its input must have at least; absent: any input'),
});

const expectedText = textMax(100_000).exactOptional().describe('Absent: `expected` of the item');

/** Graders that look at one run by themselves. */
const simpleGraders = [
  z.strictObject({
    type: z.literal('equal').describe('The reply is the expected value'),
    ...graderName,
    expected: expectedText,
    ignoreCase: z.boolean().exactOptional().describe('Upper and lower case are the same'),
  }),
  z.strictObject({
    type: z.literal('contains').describe('The reply has a text'),
    ...graderName,
    text: z
      .union([textMax(10_000), z.array(textMax(10_000)).min(1).max(50)])
      .exactOptional()
      .describe('One text, or several of which the reply has to have all; absent: `expected` of the item'),
    ignoreCase: z.boolean().exactOptional().describe('Upper and lower case are the same'),
  }),
  z
    .strictObject({
      type: z.literal('regex').describe('The reply matches a pattern'),
      ...graderName,
      pattern: textMax(2_000).describe('A regular expression of JavaScript that the reply has to match somewhere'),
      flags: z
        .string()
        .regex(/^[imsu]*$/, 'some of i, m, s and u')
        .exactOptional()
        .describe('The flags of the pattern'),
    })
    .refine(isPattern, { path: ['pattern'], error: 'a regular expression of JavaScript, with flags that it can have' }),
  z.strictObject({
    type: z.literal('json').describe('The reply is JSON that fits a schema'),
    ...graderName,
    schema: z
      .record(z.string(), z.unknown())
      .superRefine((schema, context) => {
        const wrong = findSchemaFault(schema);
        if (wrong !== null) context.addIssue({ code: 'custom', ...wrong, input: schema });
      })
      .describe('JSON Schema that the reply, as JSON, has to fit'),
  }),
  z.strictObject({
    type: z.literal('field').describe('A field of the structured reply has a value'),
    ...graderName,
    path: z
      .string()
      .regex(/^(\/.*)?$/, 'a JSON pointer such as /total')
      .max(500)
      .describe('JSON pointer of a field of the structured reply'),
    equals: anyValue
      .exactOptional()
      .describe('The value that it should have; null: the value null; absent: that of the same field of `expected`'),
    tolerance: z.number().min(0).exactOptional().describe('How far a number may be off; absent: 0'),
  }),
  z.strictObject({
    type: z.literal('tools').describe('The run calls these tools'),
    ...graderName,
    calls: z
      .array(wantedCall)
      .max(100)
      .exactOptional()
      .describe('The calls that it should make; absent: the recorded ones'),
    match: z
      .enum(['order', 'set', 'includes'])
      .exactOptional()
      .describe(
        '`order`: these calls in this order and no others; `set`: these in any order and no others; `includes`: these and possibly others; absent: `set`',
      ),
  }),
  z.strictObject({
    type: z.literal('cost').describe('What the run costs'),
    ...graderName,
    maxUsd: z.number().min(0).exactOptional().describe('Passed if a run costs at most this; absent: only compared'),
  }),
  z.strictObject({
    type: z.literal('time').describe('How long the run takes'),
    ...graderName,
    maxSeconds: z
      .number()
      .min(0)
      .exactOptional()
      .describe('Passed if a run takes at most this long; absent: only compared'),
  }),
] as const;

/** A model that judges by a rubric. */
const modelGrader = z.strictObject({
  type: z.literal('model').describe('A model judges the reply'),
  ...graderName,
  model: textMax(200)
    .exactOptional()
    .describe('The model that judges, as provider/model or an alias; absent: that of the agent'),
  rubric: textMax(20_000).describe('What makes a good reply, in words'),
  mode: z
    .enum(['single', 'pair'])
    .exactOptional()
    .describe(
      '`single`: each reply by itself, 0 to 10; `pair`: each against the reply of the baseline, in both orders; absent: `single`',
    ),
  passAt: z.number().min(0).max(10).exactOptional().describe('With `single`, passed from this on; absent: 7'),
});

export type SimpleGrader = z.output<(typeof simpleGraders)[number]>;
export type ModelGrader = z.output<typeof modelGrader>;
/** Graders that join others. */
export interface JoinedGrader {
  type: 'all' | 'any' | 'not';
  name?: string;
  of: PlainGrader[];
}
export type PlainGrader = SimpleGrader | JoinedGrader;
export type Grader = PlainGrader | ModelGrader;

const joinedType = z
  .enum(['all', 'any', 'not'])
  .describe('It passes if all of the others pass, if one of them does, or if none does');

/** The kinds of graders that need no model. `depth`: how deep those that join others may be. */
function plainGraders(depth: number): [z.ZodObject, ...z.ZodObject[]] {
  if (depth === 0) return [...simpleGraders];
  const of = z
    .array(z.discriminatedUnion('type', plainGraders(depth - 1)))
    .min(1)
    .max(GRADERS_MAX)
    .describe('The graders that it joins');
  return [...simpleGraders, z.strictObject({ type: joinedType, ...graderName, of })];
}

// The list of its kinds has lost their types.
export const grader = z
  .discriminatedUnion('type', [modelGrader, ...plainGraders(NESTED_MAX)])
  .describe('How a run is graded: see evaluations.md#graders') as unknown as z.ZodType<Grader>;

function isPattern({ pattern, flags }: { pattern: string; flags?: string }): boolean {
  try {
    return new RegExp(pattern, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

/** How many graders these are, with those that they join. */
function countGraders(graders: readonly Grader[]): number {
  return graders.reduce((sum, one) => sum + 1 + ('of' in one ? countGraders(one.of) : 0), 0);
}

/** What is changed. Nothing: what was recorded is asked again as it was. */
export const candidate = z.strictObject({
  name: name.describe('Its name in results'),
  model: textMax(200).exactOptional().describe('Another model, as provider/model or an alias'),
  thinking: z.enum(THINKING_LEVELS).exactOptional().describe('Another thinking level'),
  temperature: z.number().min(0).max(2).exactOptional().describe('Another temperature'),
  systemPrompt: z.string().max(1_000_000).exactOptional().describe('Another system prompt, as a whole'),
});
export type Candidate = z.output<typeof candidate>;

export const evaluationRequest = z.strictObject({
  name: textMax(200).exactOptional().describe('A name for people'),
  dataset: textMax(200).describe('The name or the id of a data set'),
  version: countIn(1, 1_000_000).exactOptional().describe('The version of the data set; absent: the last'),
  split: z.enum(SPLIT_CHOICES).exactOptional().describe('Only items of this part; absent: `work`'),
  tags: inputOptions.tags.describe('Only items with these tags'),
  candidates: z
    .array(candidate)
    .min(1)
    .max(CANDIDATES_MAX)
    .describe('What is compared: the first is the baseline, the others are compared with it'),
  graders: z
    .array(grader)
    .min(1)
    .max(GRADERS_MAX)
    .refine(
      (graders) => countGraders(graders) <= ALL_GRADERS_MAX,
      `at most ${ALL_GRADERS_MAX} graders, with those that others join`,
    )
    .describe('How each run is graded'),
  primary: name.exactOptional().describe('The name of the grader that decides; absent: the first'),
  repeats: countIn(1, REPEATS_MAX)
    .exactOptional()
    .describe('How often each item is run with each candidate; absent: 3'),
  costCap: z
    .number()
    .min(0)
    .max(1_000_000)
    .refine((value) => limitUsd.safeParse(value).success, 'dollars with at most six decimals')
    .exactOptional()
    .describe('It pauses when its runs have cost this much, in US dollars; absent: no limit'),
  effect: z
    .number()
    .min(0.1)
    .max(100)
    .exactOptional()
    .describe('The smallest difference that matters, in percentage points; absent: 5'),
  unknownCalls: z
    .union([
      z.literal('diverge'),
      z.strictObject({ answer: textMax(10_000).describe('The text that such a call gets as its result') }),
    ])
    .exactOptional()
    .describe(
      'What happens to a call of a tool that has no recorded result: the run ends as diverged, or it gets this answer; absent: `diverge`',
    ),
  via: z
    .enum(['live', 'provider-batch'])
    .exactOptional()
    .describe('How the model is asked; `provider-batch` only for items without tools; absent: live'),
  concurrency: countIn(1, 1_000).exactOptional().describe('The most runs in flight; absent: 16'),
});
export type EvaluationRequest = z.output<typeof evaluationRequest>;

const interval = z
  .strictObject({ from: z.number().describe('Its lower end'), to: z.number().describe('Its upper end') })
  .describe('Its 95 % interval');

export const gradeSummary = z.strictObject({
  name: text.describe('The name of the grader'),
  passRate: amount.describe('The share of items of which most repeats have passed; null: it grades without passing'),
  interval: interval
    .nullable()
    .describe('The 95 % interval of the share (Wilson); null: there is no share, or only one conversation'),
  ungraded: count.describe(
    'Items that it could not grade, because a judging model failed, a pattern took too long or nothing is expected; the share leaves them out',
  ),
  mean: amount.describe('The mean of its scores; null: it has none'),
});

export const comparison = z.strictObject({
  verdict: z.enum(VERDICTS).describe('Whether the candidate is better than the baseline by the primary grader'),
  text: text.describe('The verdict in a sentence'),
  difference: amount.describe(
    'Candidate minus baseline, in the unit of the grader; shares in percentage points; null: nothing to compare',
  ),
  interval: interval.nullable().describe('The 95 % interval of the difference; null: not known'),
  p: amount.describe('The probability of such a difference if there were none; null: nothing to compare'),
  adjustedP: amount.describe('The same with several candidates in mind (Holm); null: nothing to compare'),
  test: z.enum(['mcnemar', 'sign-flip']).describe('The test: exact, or by flips of signs within conversations'),
  better: count.describe('Items that it passes and the baseline does not; with scores, that it does better'),
  worse: count.describe('Items that the baseline passes and it does not; with scores, that it does worse'),
  items: count.describe('The items that were compared'),
  groups: count.describe('The conversations that they are of'),
  detectable: amount.describe(
    'The smallest difference that these items would show with 80 % probability; null: not known',
  ),
  itemsNeeded: count.nullable().describe('How many items the difference that matters needs; null: not known'),
});

const candidateSummary = z.strictObject({
  name: text.describe('The name of the candidate'),
  runs: count.describe('Its runs that have ended'),
  diverged: count.describe('Runs that called a tool in a way that was not recorded'),
  failed: count.describe('Runs that failed'),
  costUsd: amount.describe('What its runs cost, in US dollars; null: not known'),
  seconds: amount.describe(
    'How long a run took with its waits, in the middle; null: none has ended, or none was asked live',
  ),
  graders: z.array(gradeSummary).describe('What the graders say'),
  comparison: comparison.nullable().describe('Against the baseline, by the primary grader; null: it is the baseline'),
  cost: comparison.nullable().describe('The cost of a run against the baseline; null: it is the baseline'),
  time: comparison.nullable().describe('The time of a run against the baseline; null: it is the baseline'),
});
export type CandidateSummary = z.output<typeof candidateSummary>;

export const evaluation = z.strictObject({
  id: uuid.describe('The id of the evaluation'),
  name: text.nullable().describe('A name for people; null: none'),
  dataset: z
    .strictObject({
      id: uuid.describe('The data set'),
      name: text.describe('The name of the data set'),
      version: count.describe('The version of it that is asked'),
    })
    .describe('What it asks'),
  split: z.enum(SPLIT_CHOICES).describe('The part of the data set'),
  status: z.enum(EVALUATION_STATUSES).describe('What it is doing'),
  outcome: z.enum(EVALUATION_OUTCOMES).nullable().describe('How it ended; null: it has not'),
  detail: text.nullable().describe('Why it is paused, or has failed, for people; null: neither'),
  candidates: z.array(candidate).describe('What is compared; the first is the baseline'),
  graders: z.array(grader).describe('How runs are graded'),
  primary: text.describe('The name of the grader that decides'),
  repeats: count.describe('How often each item is run with each candidate'),
  effect: z.number().describe('The smallest difference that matters, in percentage points'),
  costCapUsd: amount.describe('It pauses when it has cost this much; null: no limit'),
  counts: z
    .strictObject({
      items: count.describe('Items that are run'),
      excluded: count.describe('Items that cannot be run'),
      erased: count.describe('Items that an erasure has emptied'),
      runs: count.describe('All runs'),
      ended: count.describe('Runs that have ended and are graded'),
      judgements: count.describe('Judgements of models that are asked for'),
      judged: count.describe('Judgements that were given'),
    })
    .describe('How far it is'),
  costUsd: amount.describe('What runs and judgements have cost so far, in US dollars; null: not known'),
  judgingCostUsd: amount.describe('The part of it that judging models cost; null: not known'),
  results: z.array(candidateSummary).describe('What came out, by candidates; empty: it has not ended'),
  batchId: uuid.nullable().describe('The batch that carries its runs; null: not yet'),
  judgingBatchId: uuid.nullable().describe('The batch that carries its judgements; null: none'),
  createdBy: guardedName('Who started it: `admin`, or `key:<name>`'),
  createdAt,
  endedAt: iso.nullable().describe('When it ended; null: it has not'),
});
export type EvaluationView = z.output<typeof evaluation>;

export const grade = z.strictObject({
  name: text.describe('The name of the grader'),
  pass: z
    .boolean()
    .nullable()
    .describe('Whether the run has passed; null: it grades without passing, or could not say'),
  score: amount.describe(
    'A number: 1 and 0 for passed and not, dollars, seconds, or what a model says from 0 to 1; null: none',
  ),
  reason: text.describe('Why, for people'),
});
export type Grade = z.output<typeof grade>;

export const divergence = z.strictObject({
  step: count.describe('The step of the turn, from 1, at which it did something else than was recorded'),
  kind: z
    .enum(['call', 'ended', 'continued'])
    .describe(
      '`call`: another call; `ended`: it answered where a tool was called; `continued`: it called a tool where the recorded turn answered',
    ),
  expected: text.nullable().describe('What was recorded there; null: nothing'),
  got: text.nullable().describe('What it did; null: nothing'),
});
export type Divergence = z.output<typeof divergence>;

export const evaluationRun = z.strictObject({
  repeat: count.describe('Its number, from 1'),
  status: z.enum(RUN_STATUSES).describe('How it ended'),
  turnId: uuid.nullable().describe('The turn that it was; null: it made none'),
  sessionKey: sessionKey.describe('Its session, which is erased 7 days after the run'),
  reply: text.nullable().describe('What it answered, the first 20000 characters; null: nothing'),
  divergence: divergence.nullable().describe('Where it first did something else than was recorded; null: nowhere'),
  calls: z.array(text).describe('The calls of tools that it made'),
  error: fault.describe('Why it failed; null: it did not'),
  costUsd: amount.describe('What it cost; null: not known'),
  seconds: amount.describe('How long it took with its waits; null: not known, or it was not asked live'),
  grades: z.array(grade).describe('What each grader says of it'),
});
export type EvaluationRunView = z.output<typeof evaluationRun>;

export const evaluationResult = z.strictObject({
  n: count.describe('The number of the item in the data set'),
  rank: count.describe('Its place, the worst first'),
  change: z
    .number()
    .describe(
      'How much better the candidate is than the baseline for this item, by the primary grader; under 0: worse. Of the baseline itself: how good it is',
    ),
  input: text.nullable().describe('What was asked, the first 2000 characters; null: the item is erased'),
  expected: anyValue.describe('What graders compare with; null: nothing'),
  recorded: text.nullable().describe('What the recorded turn answered, the first 20000 characters; null: nothing'),
  turnId: uuid.nullable().describe('The turn that was copied; null: none'),
  tags: shownTags,
  candidates: z
    .array(
      z.strictObject({
        name: text.describe('The name of the candidate'),
        passed: z.boolean().nullable().describe('Whether most repeats have passed; null: not known'),
        score: amount.describe('The mean of its scores by the primary grader; null: none'),
        runs: z.array(evaluationRun).describe('Its runs of the item'),
      }),
    )
    .describe('By candidates, the baseline first'),
});
export type EvaluationResultView = z.output<typeof evaluationResult>;

export const resultFilter = {
  candidate: name.optional().describe('The candidate that decides what is worst; absent: the second, or the only one'),
  tag: tagText.optional().describe('Only items with this tag, as key:value'),
  change: z.enum(['better', 'worse', 'same']).optional().describe('Only items that changed in this way'),
};

export const evaluationFilter = {
  status: z.enum(EVALUATION_STATUSES).optional().describe('Only evaluations in this state'),
  dataset: textMax(200).optional().describe('Only evaluations of this data set, by name or id'),
};
