// Descriptions of the figures of the overview. A part of `field-descriptions.ts`.
import { AGENT_DESCRIPTIONS } from './agents.ts';
import { OPENAI_DESCRIPTIONS } from './openai-descriptions.ts';

/** By field, or by operation and field. */
export const OVERVIEW_DESCRIPTIONS: Readonly<Record<string, string>> = {
  ...AGENT_DESCRIPTIONS,
  ...OPENAI_DESCRIPTIONS,
  now: 'The current time of the database',
  'getOverview.waiting': 'Waiting messages; the count stops at 10,000',
  oldestAt: 'When the oldest waiting message arrived; null: none waits',
  parked: 'Turns that wait without a slot',
  running: 'Turns that are running on a worker',
  'getOverview.slots': 'The slots for turns',
  'getOverview.lanes.slots': 'The number of turns that all workers together can run at once',
  inUse: 'Slots in use',
  'getOverview.slots.total': 'Slots of all workers that are neither draining nor lost',
  turnsPerMinute: 'Turns that ended per minute in the last five complete minutes',
  successRate: 'The share of the turns of the last hour that neither failed nor timed out; null: no turn ended',
  firstChunkP95Ms:
    'The 95th percentile of the time to the first part of an answer, in milliseconds, for calls of the newest 1,000 turns of the last hour; null: there were none',
  turnP95Ms: 'The 95th percentile of the duration of these turns, in milliseconds; null: there were none',
  cacheHitRatio: 'The share of the input tokens of the last hour that was read from the cache; null: there were none',
  spentTodayUsd: 'The cost of calls since midnight UTC, in US dollars',
  'getOverview.budget': 'The budget with the largest used share; null: there is no budget',
  limitUsd: 'The limit in US dollars',
  spentUsd: 'What is spent, in US dollars',
  usedPercent: 'The spent and reserved amount, in percent of the limit',
  points: 'The last 60 minutes, oldest first; each column has one value per minute',
  'getOverview.points.startsAt': 'When each minute starts; the last one is not complete',
  'getOverview.points.waiting':
    'The most messages that waited at once, up to 10,000, as the schedulers saw it every 10 seconds; null: no scheduler ran',
  'getOverview.points.running': 'The most turns that ran at once, as the schedulers saw it; null: no scheduler ran',
  'getOverview.points.firstChunkP95Ms':
    'The 95th percentile of the time to the first part of an answer, in milliseconds, for calls of those of the newest 1,000 turns that ended in the minute; null: there were none',
  'getOverview.points.turnP95Ms':
    'The 95th percentile of the duration of those of the newest 1,000 turns that ended in the minute, in milliseconds; null: there were none',
  arrivals: 'Accepted messages',
  ends: 'Turns that ended',
  'getOverview.points.failures': 'Turns that failed or timed out',
  oldestWaitMs: 'How long the oldest waiting message had waited, in milliseconds; null: none waited',
  'getOverview.points.costUsd': 'The cost of the calls, in US dollars',
  lanes: 'The lanes, each with its current load',
  'getOverview.lanes.oldest':
    'The session of the message that waits longest, and why the message waits; null: none waits',
  'getOverview.lanes.oldest.why': 'Why the message waits',
  'getOverview.lanes.depth': 'Sessions that have work but no worker, without those whose turn is parked',
  'getOverview.lanes.parked': 'Sessions whose turn is parked',
  'Stats.attention': 'The number of open problems that `GET /v1/attention` lists, at most a second old',
  'Stats.attention.errors': 'Something does not work',
  'Stats.attention.warnings': 'Something may stop working soon',
  'acknowledgeAttention.reason': 'Why; shown with the problem and stored in the audit log',
  'snoozeAttention.reason': 'Why; shown with the problem and stored in the audit log',
  'snoozeAttention.seconds': 'For how long; default: 3600. 0: it is open again',
  'AttentionEntry.id': 'Its id, as long as the problem lasts',
  'AttentionEntry.state': 'open; acknowledged or snoozed by an operator, then it is not counted and stands last',
  'AttentionEntry.mark': 'What an operator has decided; null: nothing that still holds',
  'AttentionEntry.mark.by': 'Who: `admin`, or `key:<name>`',
  'AttentionEntry.mark.at': 'When',
  'AttentionEntry.mark.until': 'The end of the snooze; null: it is acknowledged until it ends',
  'AttentionEntry.mark.reason': 'Why; null: no reason was given',
  'getAttention.items':
    'The problems that need an operator: open errors, open warnings, then what an operator has acknowledged or snoozed; empty if there are none',
  severity: 'error: something does not work; warning: something may stop working soon',
  'AttentionEntry.since': 'When it began; null: not known',
  href: 'The path of the screen that shows it',
  fix: 'What to do next',
};
