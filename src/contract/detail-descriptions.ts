// Descriptions of the fields of a turn's detail, a family, a delivery, a tool call and a part of an entry. A part of `field-descriptions.ts`.

/** By field, or by operation and field. */
export const DETAIL_DESCRIPTIONS: Readonly<Record<string, string>> = {
  'Turn.model':
    'The model that answered, with its provider unless that is anthropic; until then the model that it was opened with',
  'ListedTurn.model':
    'The model that answered, with its provider unless that is anthropic; until then the model that it was opened with',
  askedModel:
    'The model that the turn was opened with, if another one has answered after a fallback; null: it is the same',
  clockChange:
    'The last clock change of the time zone between the previous slot, or now, and this slot; null: there is none',
  previousTurnId: 'The previous turn of the session; null: this is the first turn, or the previous one was deleted',
  nextTurnId: 'The next turn of the session; null: this is the last one',
  changedAt: 'When the clocks change',
  offsetMinutesBefore: 'The offset from UTC before the change, in minutes',
  offsetMinutesAfter: 'The offset from UTC after the change, in minutes',
  restsUntil: 'The cron backs off after failed runs: slots before this time are skipped; null: it does not back off',
  'listCronSummaries.items.slots': 'The next slots, earliest first; empty if the cron is disabled',
  'listCronSummaries.items.fires': 'The last 20 fires, newest slot first',
  lastCost: 'The cost of the newest of these fires with a known cost',
  'listCronSummaries.items.month': "A forecast for this calendar month in the cron's time zone, or in UTC",
  slotCount: 'The number of slots in the month; 0 if the cron is disabled',
  'listCronSummaries.items.month.costUsd':
    'The cost of these slots in US dollars at the average cost of the last fires; null: no cost is known',
  'listCronSummaries.items.month.costMicros': 'The same in whole micro-dollars',
  rootKey: 'The session at the top of the family',
  root: 'What the root session used',
  own: 'What the run used, without the runs below it',
  subtree: 'What the run and all runs below it used',
  'getFamily.items.depth': 'The number of sessions above it: 1 for a run that the root spawned',
  'getFamily.items.subtree.runs': 'The number of runs, including this one',
  'getFamily.items': 'The runs below the root, each after its parent',
  'getFamily.items.task': 'The beginning of the task',
  'getFamily.items.turnId': 'Its open turn or its last one; null: it has had no turn',
  parentRunId: 'The run that spawned it; null: the root did',
  'getFamily.items.announcement': 'How its result reached a session above it; null: it has not ended',
  'getFamily.items.announcement.how':
    '`waiting`: no turn has claimed it yet; `steered`: it joined a running turn; `ownTurn`: it started a turn, alone or with other announcements; `notSent`: it was settled without a turn, because none was requested or the recipient was stopped; `noRecipient`: no session was left to receive it',
  'getFamily.items.announcement.messageId': 'The id of the message; null: there is no message',
  'getFamily.items.announcement.sessionKey': 'The session that receives it; null: no session was left',
  'getFamily.items.announcement.status': 'The status of the message; null: there is no message',
  'getFamily.items.announcement.turnId': 'The turn that claimed it; null: no turn has claimed it',
  'getFamily.isCapped': 'Whether there are more runs than are shown',
  arguments: 'The arguments of the call, as JSON text; null: they are no longer in the transcript',
  'getToolCall.result': 'The result of the tool, as the model saw it; null: the call has not ended',
  'getTurnInputs.messages': 'The messages that it answers, in their order',
  'getTurnInputs.messages.text': 'The text, up to 16,384 characters',
  'getTurnInputs.messages.cause':
    'What caused the message; a field is null if it does not apply or its object was deleted',
  'getTurnInputs.messages.cause.kind':
    '`request`: the API or a plugin; `cron`: a cron or a heartbeat; `spawn`: a session that spawned this one; `subagent`: the end of a subagent; `session`: a message from another session; `steering`: a message that first joined a running turn; `wait`: the end of a wait for subagents; `batch`: a batch; `retry`: the retry of a failed message',
  'getTurnInputs.messages.cause.turnId':
    'The turn that sent the message, spawned the session, or failed; null: no turn is known',
  'getTurnInputs.messages.cause.sessionKey': 'The session of that turn, or of the subagent that ended',
  'getTurnInputs.messages.cause.messageId': 'The message that is repeated or followed',
  'getTurnInputs.messages.cause.cron': 'The cron',
  'getTurnInputs.messages.cause.batchId': 'The batch',
  'getTurnInputs.systemEvents': 'The system events in its prompt, oldest first',
  'listTurns.textChars': 'A longer `reply` is cut after this many characters; `GET /v1/turns/{id}` returns all of it',
  'listWaiting.textChars':
    'A longer `text` is cut after this many characters; `GET /v1/messages/{id}` returns all of it',
  'listEntries.partChars':
    'Longer parts are cut after this many characters. They have `omittedChars` and `href`, the path of the whole text. The arguments of a cut tool call are the beginning of their JSON text',
  'listDeliveries.turn': 'Only deliveries of this turn',
  'listDeliveries.channel': 'Only deliveries to this channel: webhook, or the name of a channel',
  'listDeliveries.q':
    'The id of a delivery, a turn or a message or its last 6 to 12 digits, or a session key; any other text must be part of the session key or the last error',
  log: 'The results of its attempts, oldest first, as far back as the event log reaches',
  'DeliveryDetails.log.status': 'Its status after the attempt; `pending`: another attempt follows',
  'DeliveryDetails.log.at': 'When the result was stored',
  oldestAt: 'When the oldest of them was created; null: there is none',
  'discardDelivery.reason': 'Why; stored in the audit log',
  offset: 'The position of the first character, counted from 0',
  length: 'The number of characters; absent: all until the end',
  'Readiness.dependencies.failedSince': 'Since when the dependency fails, as this process knows; null: it works',
  'Readiness.version': 'The version of Holdfast that answers',
  'Readiness.environment': 'The name of the environment as configured in `api.environment`; null: it has none',
  apiQueueMode: 'The queue mode of a message to the session that has neither `channel` nor `mode`',
  contextWindow: "The size of the context window in tokens, as configured for the session's agent",
  'SessionDetails.lock': 'The process that runs a turn of the session; null: none does',
  'SessionDetails.lock.holder': 'The name of the process',
  'SessionDetails.lock.until':
    'When its lease expires unless the process renews it; in the past if the process has crashed and no other has claimed the session',
};
