// Descriptions of the fields about usage, costs and prices. A part of `field-descriptions.ts`.

/** By field, or by operation and field. */
export const COST_DESCRIPTIONS: Readonly<Record<string, string>> = {
  checkedAt: 'The day on which the prices were compared with their source last; null: not known',
  firstChunkMs: 'From the start of the call to the first part of its answer, in milliseconds; null: there was none',
  inputPerMTok: 'Dollars per million input tokens that were not in the cache',
  isEstimated: 'Whether the call broke off, and its tokens and cost are what was reported until then',
  longPrompt: 'The prices of every token of a call with a long prompt; null: the length changes nothing',
  outputPerMTok: 'Dollars per million tokens of the answer',
  overTokens: 'The prices hold for prompts that are longer than this',
  priceVersion: 'The version of the price table that gave the cost; null: none did',
  rows: 'The rows; of several that match a model and a day, the first holds',
  simulated: 'Whether some of it is of the scripted model, so that no money was spent',
  source: 'Where the prices are from',
  tier: 'The prices that hold for it: standard, or those of batches of the provider',
  to: 'The last day on which it is in effect; null: it has no end',
  unpricedCalls: 'Model calls whose cost is not known, because their model has no price',
  version: 'The version of the price table',
  'getUsage.by': 'The length of a step; absent: day',
  callMs: 'The durations of the calls together, in milliseconds',
  failedTurns: 'Turns that failed or timed out',
  'getUsage.failures': 'Model calls that failed',
  'getUsage.firstChunkMs':
    'The times from the starts of the calls to the first parts of their answers together, in milliseconds',
  'getUsage.from': 'Steps that start then or later; absent: an hour, a day or 30 days ago, for minutes, hours and days',
  'getUsage.to': 'Steps that start before; absent: now',
  'getUsage.turns': 'Turns that ended',
  'getUsage.calls': 'Model calls that ended',
  'getUsage.group': 'What the steps are grouped by; in the answer the name of the group, null: all together',
  startsAt: 'When the step starts',
  turnMs: 'The durations of the turns together, in milliseconds',
  waitMs: 'How long the turns had waited when they began, together, in milliseconds',
};
