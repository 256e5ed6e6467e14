// What the fields of a family, a delivery, a call of a tool and a part of an entry mean. A part of `field-descriptions.ts`.

/** By field, or by operation and field. */
export const DETAIL_DESCRIPTIONS: Readonly<Record<string, string>> = {
  clockChange:
    'The last time that the clocks of the zone are set between the slot before it, or now, and this one; null: they are not',
  changedAt: 'When the clocks are set',
  offsetMinutesBefore: 'How far the clocks are ahead of UTC before, in minutes',
  offsetMinutesAfter: 'How far they are ahead of UTC after it, in minutes',
  restsUntil: 'Slots before it are skipped, because runs have failed; null: it does not rest',
  'listCronSummaries.items.slots': 'The next slots, earliest first; none when the cron is disabled',
  'listCronSummaries.items.fires': 'The last 20 fires, newest slot first',
  lastCost: 'What the newest of these fires with a known cost has cost',
  'listCronSummaries.items.month': 'The calendar month in the zone of the cron, else in UTC, if it runs all month',
  slotCount: 'How many slots the month has; 0 when the cron is disabled',
  'listCronSummaries.items.month.costUsd':
    'What they cost in dollars at the mean of these fires; null: no cost is known',
  'listCronSummaries.items.month.costMicros': 'The same in millionths of a dollar',
  rootKey: 'The session at the top of the family',
  root: 'What the root itself used',
  own: 'What the run itself used',
  subtree: 'What the run and all runs below it used together',
  'getFamily.items.depth': 'How many sessions are above it: 1 for a run of the root',
  'getFamily.items.subtree.runs': 'How many runs there are, this one included',
  'getFamily.items': 'The runs below the root, each after its parent',
  'getFamily.items.task': 'The beginning of what it was asked to do',
  'getFamily.items.turnId': 'Its open turn, or its last one; null: it has had none',
  parentRunId: 'The run that spawned it; null: the root did',
  'getFamily.items.announcement': 'How its end reached a session above it; null: it has not ended',
  'getFamily.items.announcement.how':
    '`waiting`: no turn has claimed it yet; `steered`: it joined a turn that ran; `ownTurn`: it began a turn, alone or with other announcements; `notSent`: it was settled without a turn, because none was requested or its recipient was stopped; `noRecipient`: no session was left to receive it',
  'getFamily.items.announcement.messageId': 'The message; null: there is none',
  'getFamily.items.announcement.sessionKey': 'The session that receives it; null: none was left',
  'getFamily.items.announcement.status': 'The status of the message; null: there is none',
  'getFamily.items.announcement.turnId': 'The turn that claimed it; null: none has',
  'getFamily.isCapped': 'Whether there are more runs than are shown',
  arguments: 'What the tool was given, as JSON text; null: the transcript does not have it any more',
  'getToolCall.result': 'What the tool answered, as the model saw it; null: it has not ended',
  'listTurns.textChars': 'A longer `reply` is cut after so many characters; `GET /v1/turns/{id}` has all of it',
  'listWaiting.textChars': 'A longer `text` is cut after so many characters; `GET /v1/messages/{id}` has all of it',
  'listEntries.partChars':
    'Parts with more characters are cut: they have `omittedChars` and `href`, where the whole text is. The arguments of a call become the beginning of their JSON',
  'listDeliveries.turn': 'Only of this turn',
  'listDeliveries.channel': 'Only to this channel: webhook, or the name of a channel',
  'listDeliveries.q':
    'The id of a delivery, a turn or a message, or a session key; a text that is none of them is looked for in session keys and last errors',
  log: 'The results of its attempts, oldest first, as far as the log of events still has them',
  'DeliveryDetails.log.status': 'What it was after the attempt; `pending`: it is tried again',
  'DeliveryDetails.log.at': 'When the result was stored',
  oldestAt: 'When the oldest of them was created; null: there is none',
  'discardDelivery.reason': 'Why, for the log of changes',
  offset: 'The first character, counted from 0',
  length: 'The number of characters; absent: all that follow',
};
