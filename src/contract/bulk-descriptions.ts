// Descriptions of the fields of bulk actions and of erasures, for the OpenAPI document; see field-descriptions.ts.

import { ERASURE_DESCRIPTIONS } from './erasure.ts';

/** By field. */
export const BULK_DESCRIPTIONS: Readonly<Record<string, string>> = {
  ...ERASURE_DESCRIPTIONS,
  'InboundMessage.priority':
    'Above 0: the session runs before the others that wait in its lane; below 0: it runs after all others, the lowest last',
  'createBulkAction.action':
    'What to do with each object: `retry` and `abort` are for turns, `cancel` is for waiting messages, `redrive` and `discard` are for deliveries and dead letters',
  'createBulkAction.target': 'The kind of the objects',
  'createBulkAction.ids': 'The ids; alternatively, send `filter`',
  'createBulkAction.filter':
    'Selects the objects that match when the request arrives. Turns have the filters of `GET /v1/turns`; waiting messages `session`, `status`; deliveries `session`, `status`, `channel`, `q`; open dead letters `kind`, `code`',
  canary: 'True: the first object is done alone. If it succeeds, the others follow; if not, the action ends',
  perSecond: 'The maximum number of objects per second; null or absent: no limit',
  reason: 'Why, for people and the audit log; null or absent: no reason was given',
  'createBulkAction.dryRun': 'True: count the objects and change nothing',
  'createBulkAction.total': 'The number of objects',
  'createBulkAction.filter.session': 'The key of a session',
  'createBulkAction.filter.status': 'Only in one of these states; a single state may be sent as a string',
  'createBulkAction.filter.kind': 'The kind of the turns, or of the dead letters',
  'createBulkAction.filter.lane': 'The lane of the turns',
  'createBulkAction.filter.since': 'Only turns that started at this time or later',
  'createBulkAction.filter.code': 'The error code of the turns, or of the dead letters',
  'createBulkAction.filter.until': 'Only turns that started before this time',
  'createBulkAction.filter.agent': 'The agent of the turns',
  'createBulkAction.filter.model': 'The model of the turns',
  'createBulkAction.filter.tool': 'Only turns that called this tool',
  'createBulkAction.filter.worker': 'The worker of the turns',
  'createBulkAction.filter.batch': 'Only turns of the items of this batch',
  'createBulkAction.filter.minMs': 'Only turns that took at least this long, in milliseconds',
  'createBulkAction.filter.minCostUsd': 'Only turns that cost at least this much, in US dollars',
  'createBulkAction.filter.q':
    'An id, a session key, the platform id of a message or an error code; any other text must be part of the session key',
  'createBulkAction.filter.channel': 'The channel of the deliveries: webhook, or the name of a channel',
  bulkActionId: 'The id of the bulk action',
  done: 'How many objects were changed',
  skipped: 'How many objects were skipped, each with a reason',
  'BulkAction.action': 'What is done with each object',
  'BulkAction.target': 'The kind of the objects',
  'BulkAction.filter': 'What the request selected: the number of `ids`, or the filter',
  'BulkAction.status':
    '`running`; `cancelling`: the objects in progress finish; `completed`; `cancelled`; `canary_failed`: the first object did not succeed, and the others were skipped',
  'BulkAction.total': 'The number of objects',
  'BulkAction.failed': 'How many objects failed because of an error',
  'BulkAction.createdBy': 'Who submitted it: `admin`, or `key:<name>`',
  'BulkItem.n': 'Its position in the order of execution',
  'BulkItem.id': 'The id of the turn, message, delivery or dead letter',
  'BulkItem.reason': 'Why it was skipped or failed; null: neither happened',
  'BulkItem.messageIds': 'The messages that it queued; null: none',
  'BulkItem.settledAt': 'When it ended; null: it has not',
  'LiveEvent.total': 'How many there are',
  'LiveEvent.failed': 'How many failed',
};
