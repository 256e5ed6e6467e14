// Descriptions of what lists have in common, and of the filters of turns and sessions. A part of `field-descriptions.ts`.

const FOUND_BY =
  'An id, a session key, the id that the platform gave a message, or an error code; a text that is none of them is looked for in session keys';

const OF_TURNS: Readonly<Record<string, string>> = {
  until: 'Only turns that started before',
  model: 'Only of this model, with or without its provider',
  tool: 'Only turns that called this tool',
  code: 'Only turns that ended with this error code',
  worker: 'Only turns that this worker ran last',
  batch: 'Only turns of the items of this batch',
  minMs: 'Only turns that took at least so many milliseconds',
  minCostUsd: 'Only turns that cost at least so many US dollars',
  q: FOUND_BY,
};

const of = (operation: string): [string, string][] =>
  Object.entries(OF_TURNS).map(([name, text]) => [`${operation}.${name}`, text]);

/** By field, or by operation and field. */
export const SEARCH_DESCRIPTIONS: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...of('listTurns'), ...of('countTurns')]),
  'getEvents.session': 'Only of this session',
  since: 'Only what is not older',
  limit: 'How many items a page has at most',
  cursor: 'Where the page begins: `nextCursor` of the page before',
  ids: 'Only of these ids',
  nextCursor: 'The cursor of the next page; null: this is the last one',
  items: 'The items of the page',
  order: 'The order of the items',
  agent: 'Only of this agent',
  'countTurns.count': 'How many were counted',
  isCapped: 'Whether there may be more than were counted',
  'ListedTurn.why.since': 'When it began to wait',
  'ListedTurn.steps': 'The last steps of the turn; absent with steps=none',
  'ListedTurn.spans': 'How long each of the last parts of the turn took; absent with steps=none',
  'listTurns.steps': 'none: without steps and spans, which are most of an answer',
  'listSessions.q': FOUND_BY,
  'listSessions.order':
    'created: newest first; updated: last changed first, of the 10,000 newest sessions and those of the 10,000 newest turns',
  'listSessions.channel': 'Only sessions of this channel',
};
