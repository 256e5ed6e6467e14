import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const {
  read: readCrons,
  count: countCrons,
  change: changeCrons,
  add: addCrons,
  remove: removeCrons,
} = table(
  'crons',
  'id',
  {
    text: 'id name agentId origin target wake',
    json: 'schedule payload',
    'text?': 'misfire disabledReason causeKey',
    'json?': 'delivery options',
    bool: 'deleteAfterRun isEnabled',
    int: 'consecutiveErrors revision',
    'time?': 'lastSlotAt nextSlotAt notBefore dueAt',
    time: 'createdAt updatedAt',
  },
  { ordinary: () => ({ id: newId<string>(), agentId: 'main' }) },
);

export const {
  read: readCronFires,
  count: countCronFires,
  add: addCronFires,
  remove: removeCronFires,
} = table('cron_fires', 'cron_id, scheduled_for', {
  text: 'cronId status',
  time: 'scheduledFor createdAt',
  'text?': 'messageId turnId reason',
  'time?': 'firedAt endedAt',
  int: 'slots',
  bool: 'isManual',
});
