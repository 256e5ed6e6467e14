// The overview, and what needs a person.
import { z } from 'zod';
import { LANES } from '../../core/session-key.ts';
import { ATTENTION_KINDS, ATTENTION_STATES } from './rules/attention.ts';
import { PROVIDER_STATES } from './rules/providers.ts';
import { simulated } from '../../contract/costs.ts';
import { why } from '../../contract/views.ts';
import { text, flag, amount, uuid, iso, count, sessionKey, lane, reason } from '../../contract/fields.ts';

const column = z.array(z.number());
/** A minute in which nothing was measured has null. */
const measured = z.array(amount);

/** Columns with one value per minute. */
const points = z.strictObject({
  startsAt: z.array(iso).describe('When each minute starts; the last one is not complete'),
  waiting: measured.describe('The most messages that waited at once, up to 10,000; null: no scheduler ran'),
  running: measured.describe('The most turns that ran at once; null: no scheduler ran'),
  arrivals: column.describe('Messages that were accepted'),
  ends: column.describe('All turns that ended'),
  failures: column.describe('Those of them that failed or timed out'),
  oldestWaitMs: column.describe('The wait of the oldest waiting message, in milliseconds; 0: none waited'),
  firstChunkP95Ms: measured.describe(
    'The 95th percentile of the milliseconds to the first part of an answer; null: no turn ended',
  ),
  turnP95Ms: measured.describe('The 95th percentile of the milliseconds that turns took; null: none ended'),
  inputTokens: column.describe('Input tokens that were not in the cache'),
  outputTokens: column.describe('Output tokens'),
  cacheReadTokens: column.describe("Input tokens read from the provider's cache"),
  cacheWriteTokens: column.describe("Input tokens written to the provider's cache"),
  costUsd: column.describe('The cost of the calls, in US dollars'),
});

const rates = {
  turnsPerMinute: z.number().describe('Turns that ended per minute in the last five complete minutes'),
  successRate: amount.describe('The share of turns of the last hour that did not fail or time out; null: none ended'),
  firstChunkP95Ms: amount.describe(
    'The 95th percentile of the milliseconds to the first part of an answer, of the newest 1,000 turns of the last hour; null: none ended',
  ),
  turnP95Ms: amount.describe('The 95th percentile of the milliseconds that these turns took; null: none ended'),
  cacheHitRatio: amount.describe('The share of input tokens of the last hour that were cached; null: there were none'),
};

export const overview = z.strictObject({
  now: iso.describe('The current time of the database'),
  waiting: z
    .strictObject({
      count: count.describe('The number of waiting messages'),
      isCapped: flag.describe('Whether there are more'),
      oldestAt: iso.nullable().describe('When the oldest waiting message arrived; null: none waits'),
    })
    .describe('Waiting messages; the count stops at 10,000'),
  parked: count.describe('Turns that wait without a slot'),
  running: count.describe('Turns that are running on a worker'),
  slots: z
    .strictObject({
      inUse: count.describe('The number of slots with a turn'),
      total: count.describe('The number of slots of workers that are neither draining nor lost'),
    })
    .describe('The slots for turns on all workers'),
  ...rates,
  spentTodayUsd: z.number().describe('The cost of calls since midnight UTC, in US dollars'),
  budget: z
    .strictObject({
      id: uuid.describe('The id of the budget'),
      name: text.describe('What the budget limits, for people'),
      limitUsd: z.number().describe('The limit of a window in US dollars'),
      spentUsd: z.number().describe('What the calls of the current window have cost, in US dollars'),
      usedPercent: z.number().describe('The spent and reserved amount, in percent of the limit'),
    })
    .nullable()
    .describe('The budget with the largest used share; null: there is no budget'),
  simulated,
  points: points.describe('The last 60 minutes, oldest first; each column has one value per minute'),
  dayBefore: z
    .strictObject({
      ...rates,
      costUsd: z.number().describe('The cost of the calls of these minutes, in US dollars'),
      points: points.describe('The 60 minutes, of which those that are not kept are empty'),
    })
    .describe('The same 60 minutes of the day before'),
  processes: z
    .strictObject({
      running: count.describe('Processes that report and do not drain'),
      draining: count.describe('Processes that report and drain'),
      lost: count.describe('Processes that have missed three reports'),
    })
    .describe('The processes of the service, by state'),
  models: z
    .array(
      z.strictObject({
        model: text.describe('The model, as provider/model'),
        calls: count.describe('Its calls of the last hour'),
        failures: count.describe('Those of them that failed'),
        blockedUntil: iso.nullable().describe('Until when no worker calls it; null: it is called'),
      }),
    )
    .describe('The models that were called in the last hour or are blocked, most calls first, at most 20'),
  providers: z
    .array(
      z.strictObject({
        provider: text.describe('The name of the provider'),
        state: z
          .enum(PROVIDER_STATES)
          .describe(
            '`limited`: turns wait for a rate limit or to repeat a call; `away`: a model does not answer; `blocked`: the provider has asked for no calls of a model',
          ),
        until: iso.nullable().describe('When that ends or is tested; null: it is open, or this is not known'),
        text: text.nullable().describe('Why it is not open, for people; null: it is open'),
        calls: count.describe('The calls of its models in the last hour'),
        failures: count.describe('Those of them that failed'),
        inBatches: count.describe('Turns that wait for a batch of the provider'),
      }),
    )
    .describe('The providers of these models, and those that turns wait for, most calls first, at most 20'),
  lanes: z
    .array(
      z.strictObject({
        lane,
        depth: count.describe('Sessions that have work but no worker, without those whose turn is parked'),
        parked: count.describe('Sessions whose turn is parked'),
        oldestAt: iso.nullable().describe('When the oldest waiting message of the lane arrived; null: none waits'),
        oldest: z
          .strictObject({ sessionKey, why: why.describe('Why the message waits') })
          .nullable()
          .describe('The session of the message that waits longest, and why the message waits; null: none waits'),
        running: count.describe('Turns of the lane that are running on a worker'),
        slots: count.describe('The number of turns that all workers together can run at once'),
      }),
    )
    .describe('The lanes, each with its current load'),
});

export type Overview = z.output<typeof overview>;

const mark = z.strictObject({
  by: text.describe('Who decided it: `admin`, or `key:<name>`'),
  at: iso.describe('When it was decided'),
  until: iso.nullable().describe('The end of the snooze; null: it is acknowledged until it ends'),
  reason: text.nullable().describe('The reason in the request; null: none was given'),
});

export const attentionEntry = z.strictObject({
  id: text.describe('Its id, as long as the problem lasts'),
  kind: z.enum([...ATTENTION_KINDS, 'budget']).describe('What the problem is'),
  severity: z.enum(['error', 'warning']).describe('`error`: something fails; `warning`: something may fail soon'),
  text: text.describe('What is wrong, for people'),
  count: count.describe('How many objects have the problem'),
  since: iso.nullable().describe('When the problem began; null: not known'),
  href: text.describe('The path of the screen that shows it'),
  fix: text.describe('What to do next, for people: `advice` with the commands of `actions`'),
  advice: text.describe('What to do next, without what `actions` have'),
  actions: z
    .array(
      z.strictObject({
        text: text.describe('What it does, for people'),
        href: text.nullable().describe('The path of the screen of the dashboard where it is done; null: elsewhere'),
        command: text.nullable().describe('The command that does it; null: there is none'),
      }),
    )
    .readonly()
    .describe('What can be done about it; empty: `advice` says all'),
  state: z.enum(ATTENTION_STATES).describe('Unless it is `open`, it is not counted and is listed last'),
  mark: mark.nullable().describe('What an operator has decided; null: nothing that still holds'),
});

export type AttentionEntry = z.output<typeof attentionEntry>;

export const attention = z.strictObject({
  items: z
    .array(attentionEntry)
    .describe(
      'What needs an operator, one for each cause: open ones first, then by consequence (the database, workers, models, the queue, budgets, channels and webhooks, tools, dead letters and approvals, others), then the oldest first; empty: nothing does',
    ),
});

export type Attention = z.output<typeof attention>;

const SNOOZE_SECONDS_MAX = 30 * 86_400;
const shownReason = reason.describe('Why; shown with the problem and stored in the audit log');

export const acknowledgeRequest = z.strictObject({
  count: count
    .exactOptional()
    .describe(
      '`count` as it was shown. If there are more dead letters, approvals, pairings or calls with an unknown outcome now, the answer is 409 and nothing is decided; absent: all of them are acknowledged',
    ),
  reason: shownReason,
});

export const snoozeRequest = z.strictObject({
  seconds: z.int().min(0).max(SNOOZE_SECONDS_MAX).exactOptional().describe('For how long; 0: no longer; absent: 3600'),
  reason: shownReason,
});

export const stats = z.strictObject({
  sessions: count.describe('The number of all sessions'),
  messages: z.record(text, count).describe('The number of messages by status'),
  turns: z.record(text, count).describe('The number of turns by status'),
  deliveries: z.record(text, count).describe('The number of deliveries by status'),
  oldestWaitMs: count.nullable().describe('The wait of the oldest waiting message, in milliseconds; null: none waits'),
  liveLocks: count.describe('The number of sessions that a worker has claimed'),
  queueDepth: z.record(z.enum(LANES), count).describe('The number of jobs in the queue, by lane'),
  systemEventsWaiting: count.describe('The number of waiting system events of all sessions'),
  deadLetters: count.describe('The number of open dead letters'),
  approvals: count.describe('The number of tool calls that wait for an approval'),
  attention: z
    .strictObject({
      errors: count.describe('The number of problems of which each keeps something from working'),
      warnings: count.describe('The number of problems that may stop something soon'),
    })
    .describe('The number of open problems that `GET /v1/attention` lists, at most a second old'),
});
export type StatsView = z.output<typeof stats>;
