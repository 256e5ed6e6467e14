// Descriptions of what lists have in common, and of the filters of turns and sessions. A part of `field-descriptions.ts`.

const FOUND_BY =
  'An id or its last 6 to 12 digits, a session key, the platform id of a message, or an error code; any other text must be part of the session key';

const OF_TURNS: Readonly<Record<string, string>> = {
  until: 'Only turns that started before this time',
  model: 'Only turns of this model, with or without the name of the provider',
  tool: 'Only turns that called this tool',
  code: 'Only turns that ended with this error code',
  worker: 'Only turns that ran on this worker last',
  batch: 'Only turns of the items of this batch',
  minMs: 'Only turns that took at least this long, in milliseconds',
  minCostUsd: 'Only turns that cost at least this much, in US dollars',
  q: FOUND_BY,
};

const of = (operation: string): [string, string][] =>
  Object.entries(OF_TURNS).map(([name, text]) => [`${operation}.${name}`, text]);

/** By field, or by operation and field. */
export const SEARCH_DESCRIPTIONS: Readonly<Record<string, string>> = {
  'listTurns.tag': 'Only what has this tag, as `key:value`',
  'countTurns.tag': 'Only what has this tag, as `key:value`',
  'listMessages.tag': 'Only what has this tag, as `key:value`',
  'listSessions.tag': 'Only what has this tag, as `key:value`',
  'getUsage.tag': 'Only what has this tag, as `key:value`',
  'getTopCosts.tag': 'Only what has this tag, as `key:value`',
  'CronPatch.tools': 'Which tools its turns have; null: all of the agent',
  'CronPatch.tags': 'The tags of its turns; null: none',
  ...Object.fromEntries([...of('listTurns'), ...of('countTurns')]),
  'listDeadLetters.code': 'Only letters with this error code',
  perHour: 'The letters of the group that were created in each of the last 24 hours',
  'DeadLetterGroup.perHour.startsAt': 'When the first hour starts',
  'DeadLetterGroup.perHour.counts': 'One for each hour, oldest first; the last hour is not complete',
  'getEvents.session': 'Only events of this session',
  since: 'Only items from this time or later',
  limit: 'The maximum number of items on a page',
  cursor: 'The `nextCursor` of the previous page',
  ids: 'Only items with these ids',
  nextCursor: 'The cursor of the next page; null: this is the last page',
  items: 'The items of the page',
  order: 'The order of the items',
  agent: 'Only items of this agent',
  'countTurns.count': 'The number of turns, up to a limit',
  isCapped: 'Whether the limit of the count was reached, so that there may be more',
  'ListedTurn.why.since': 'When it began to wait',
  'ListedTurn.steps': 'The last steps of the turn; absent with steps=none',
  'ListedTurn.spans': 'The durations of the last parts of the turn; absent with steps=none',
  'listTurns.steps': 'none: leave out steps and spans, the largest part of the answer',
  'listSessions.q': FOUND_BY,
  'findIds.endsWith': 'The last 6 to 12 digits of an id',
  'findIds.kinds': 'Only ids of these kinds; absent: of all',
  'findIds.items': 'The things whose ids end so, newest first; more than one: the text is not enough',
  'findIds.items.kind': 'What has the id',
  'findIds.lookedAt':
    'So many of the newest things of each kind were looked at; an older one is found by its whole id only',
  'listSessions.order':
    'created: newest first; updated: last changed first, among the 5,000 newest sessions and those of the 5,000 newest turns',
  'listSessions.channel': 'Only sessions of this channel',
};
