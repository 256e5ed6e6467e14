// Descriptions of the figures of the overview. A part of `field-descriptions.ts`.
import { AGENT_DESCRIPTIONS } from './agents.ts';
import { OPENAI_DESCRIPTIONS } from './openai-descriptions.ts';

/** By field, or by operation and field. */
export const OVERVIEW_DESCRIPTIONS: Readonly<Record<string, string>> = {
  ...AGENT_DESCRIPTIONS,
  ...OPENAI_DESCRIPTIONS,
  now: 'The time of the database',
  'getOverview.waiting': 'Messages that wait; the count stops at 10,000',
  oldestAt: 'When the message that waits longest arrived; null: none waits',
  parked: 'Turns that wait for something without a slot',
  running: 'Turns that a worker runs',
  'getOverview.slots': 'How many turns can run at once',
  'getOverview.lanes.slots': 'Turns that all workers together can run at once',
  inUse: 'Slots that are in use',
  'getOverview.slots.total': 'Slots of all workers that neither drain nor are lost',
  turnsPerMinute: 'Turns that ended, per minute, in the last five minutes that are over',
  successRate: 'The share of the turns of the last hour that neither failed nor timed out; null: none ended',
  firstChunkP95Ms:
    'Within which 95 % of the calls of the newest 1,000 turns of the last hour began to answer, in milliseconds; null: there were none',
  turnP95Ms: 'Within which 95 % of those turns ended, in milliseconds; null: there were none',
  cacheHitRatio: 'The share of the input tokens of the last hour that was read from the cache; null: there were none',
  spentTodayUsd: 'What calls have cost since midnight in UTC, in US dollars',
  'getOverview.budget': 'The budget of which the most is used; null: there is none',
  limitUsd: 'The limit in US dollars',
  spentUsd: 'What is spent of it, in US dollars',
  usedPercent: 'What is spent and reserved, in percent of the limit',
  points: 'The last 60 minutes, oldest first: each column has a value for each minute',
  'getOverview.points.startsAt': 'When the minutes start; the last one is not over',
  arrivals: 'Messages that were accepted',
  ends: 'Turns that ended',
  'getOverview.points.failures': 'Turns that failed or timed out',
  oldestWaitMs: 'How long the message that had waited longest had waited, in milliseconds; null: none waits',
  'getOverview.points.costUsd': 'What the calls cost in US dollars',
  lanes: 'The lanes, each with what it has now',
  'getOverview.lanes.depth': 'Sessions that have work and that no worker holds',
  'getAttention.items': 'What needs a person, errors first; empty when all is well',
  severity: 'error: something does not work; warning: it may soon not',
  'getAttention.since': 'Since when; null: not known',
  href: 'The path of the screen that shows it',
  fix: 'What to do next',
};
