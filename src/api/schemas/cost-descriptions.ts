// Descriptions of the fields about usage, costs and prices. A part of `field-descriptions.ts`.

/** By field, or by operation and field. */
export const COST_DESCRIPTIONS: Readonly<Record<string, string>> = {
  checkedAt: 'The day of the last comparison of the prices with their source; null: not known',
  firstChunkMs:
    'From the start of the call to the first part of its answer, in milliseconds; null: there was no answer',
  inputPerMTok: 'Dollars per million input tokens that were not in the cache',
  isEstimated: 'Whether the call was interrupted, so that its tokens and cost are only those reported until then',
  longPrompt: 'The prices for all tokens of a call with a long prompt; null: the prices do not depend on the length',
  outputPerMTok: 'Dollars per million tokens of the answer',
  overTokens: 'These prices apply to prompts longer than this',
  priceVersion: 'The version of the price table that the cost was computed with; null: no price was found',
  rows: 'The rows of the price table; if several rows match a model and a day, the first one applies',
  simulated: 'Whether a part was answered by the scripted model, which costs nothing',
  source: 'The source of the prices',
  tier: 'Which prices apply: standard, or those of provider batches',
  to: 'The last day on which it is in effect; null: it has no end',
  unpricedCalls: 'Model calls with an unknown cost, because their model has no price',
  version: 'The version of the price table',
  'getUsage.by': 'The length of an interval; absent: day',
  callMs: 'The total duration of the calls, in milliseconds',
  failedTurns: 'Turns that failed or timed out',
  'getUsage.failures': 'Model calls that failed',
  'getUsage.firstChunkMs':
    'The total time from the start of each call to the first part of its answer, in milliseconds',
  'getUsage.from':
    'Only intervals that start at this time or later; absent: an hour ago for minutes, a day ago for hours, 30 days ago for days',
  'getUsage.to': 'Only intervals that start before this time; absent: now',
  'getUsage.turns': 'Turns that ended',
  'getUsage.calls': 'Model calls that ended',
  'getUsage.group': 'What to group by; in the answer, the name of the group; null: no groups',
  startsAt: 'When the interval starts',
  turnMs: 'The total duration of the turns, in milliseconds',
  waitMs: 'The total time that turns waited before they started, in milliseconds',
};
