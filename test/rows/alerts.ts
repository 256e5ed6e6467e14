import { table } from './table.ts';

export const { change: changeAlertDestinations } = table('alert_destinations', 'name', { text: 'name', time: 'dueAt' });

export const { read: readAlerts, change: changeAlerts } = table('alerts', 'problem_id', {
  text: 'problemId',
  time: 'alertedAt',
  'time?': 'endedAt',
});
