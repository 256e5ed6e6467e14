// Descriptions of the fields of bulk actions and of erasures, for the OpenAPI document; see field-descriptions.ts.

import { ERASURE_DESCRIPTIONS } from './erasure.ts';

/** By field. */
export const BULK_DESCRIPTIONS: Readonly<Record<string, string>> = {
  ...ERASURE_DESCRIPTIONS,
  'InboundMessage.priority':
    'Over 0: when a worker is free, the session goes before those that wait in its lane; under 0: after all others, the lowest last',
  'createBulkAction.action':
    'What is done to each: `retry` and `abort` turns, `cancel` messages that wait, `redrive` and `discard` deliveries and dead letters',
  'createBulkAction.target': 'What it is done to',
  'createBulkAction.ids': 'The ids; or send a filter',
  'createBulkAction.filter':
    'Everything that these find when the request arrives: of turns the filters of `GET /v1/turns`; of messages that wait `session`, `status`; of deliveries `session`, `status`, `channel`, `q`; of open dead letters `kind`, `code`',
  canary:
    'Whether the first one goes alone, and the others follow when it has ended well; if it has not, the action ends',
  perSecond: 'How many are carried out per second at most; null or absent: as many as can be',
  reason: 'Why, for people and the log of changes; null or absent: no reason was given',
  'createBulkAction.dryRun': 'True: count what the request is about, and do nothing',
  'createBulkAction.total': 'How many it is about',
  'createBulkAction.filter.session': 'The key of a session',
  'createBulkAction.filter.status': 'Only in one of these states; one of them may stand by itself',
  'createBulkAction.filter.kind': 'The kind of the turns, or of the dead letters',
  'createBulkAction.filter.lane': 'The lane of the turns',
  'createBulkAction.filter.since': 'Turns that started then or later',
  'createBulkAction.filter.code': 'The error code of the turns, or of the dead letters',
  'createBulkAction.filter.until': 'Turns that started before',
  'createBulkAction.filter.agent': 'The agent of the turns',
  'createBulkAction.filter.model': 'The model of the turns',
  'createBulkAction.filter.tool': 'Turns that called this tool',
  'createBulkAction.filter.worker': 'The worker of the turns',
  'createBulkAction.filter.batch': 'Turns of the items of this batch',
  'createBulkAction.filter.minMs': 'Turns that took at least so many milliseconds',
  'createBulkAction.filter.minCostUsd': 'Turns that cost at least so many US dollars',
  'createBulkAction.filter.q':
    'An id, a session key, the platform id of a message or an error code; else a part of the session key',
  'createBulkAction.filter.channel': 'The channel of the deliveries: webhook, or the name of a channel',
  bulkActionId: 'The id of the bulk action',
  done: 'How many were carried out',
  skipped: 'How many were left as they are, each with the reason',
  'BulkAction.action': 'What is done to each',
  'BulkAction.target': 'What it is done to',
  'BulkAction.filter': 'What it was submitted with: `ids` (how many), or the filter',
  'BulkAction.status':
    '`running`; `cancelling`: those in progress finish; `completed`; `cancelled`; `canary_failed`: the first one did not end well, and the others were skipped',
  'BulkAction.total': 'How many it is about',
  'BulkAction.failed': 'How many could not be carried out because of a fault',
  'BulkAction.createdBy': 'Who has submitted it: `admin`, or `key:<name>`',
  'BulkItem.n': 'Its place in the order in which they are carried out',
  'BulkItem.id': 'The id of the turn, message, delivery or dead letter',
  'BulkItem.reason': 'Why it was skipped or has failed; null: neither',
  'BulkItem.messageIds': 'The messages that wait because of it; null: none',
  'BulkItem.settledAt': 'When it ended; null: it has not',
  'LiveEvent.total': 'How many there are',
  'LiveEvent.failed': 'How many could not be carried out',
};
