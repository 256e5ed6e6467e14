// What the fields of processes and of what waits mean, for the OpenAPI document; see field-descriptions.ts.

/** By field, or by schema and field. */
export const WAITING_DESCRIPTIONS: Readonly<Record<string, string>> = {
  host: 'The name of the host',
  pid: 'The id of the process on its host',
  roles: 'The roles of the process',
  'Worker.version': 'The version of Holdfast',
  workerId: 'The id of the process',
  isBack: 'Whether it was lost and reports again',
  'LiveEvent.version': 'The version of Holdfast that the process runs',
  'LiveEvent.name': 'The name: of a batch, a cron or a tool, or the one under which a process holds locks',
  'Worker.name': 'The name under which it holds locks: the `worker` of turns',
  'Worker.state': 'Whether it runs, drains, or is lost because it has missed three reports',
  'Worker.startedAt': 'When the process was started',
  seenAt: 'When it reported last',
  drainingAt: 'Since when it drains or is asked to; null: it is not',
  queueAwaySince: 'Since when it cannot reach the queue; null: it can',
  lanes: 'What its lanes may run and run now, by lane; empty without the role of the worker',
  'Worker.lanes.slots': 'How many jobs the lane runs at the same time',
  position: 'Its place in the queue of its session, from 1',
  isCapped: 'Whether there are more than are counted',
  'listWaiting.count': 'How many messages wait in all, up to 10,000',
  'WaitingMessage.why.since': 'When it began to wait for this',
  'Turn.attempts': 'Its attempts, oldest first; only of a turn by itself',
  'Turn.attempts.how':
    'How the attempt ended: its worker was lost, released the turn, or parked it; null: it is the last one',
  batch: 'Only of this batch',
  'Message.why.since': 'When it began to wait',
  'Turn.why.since': 'When it began to wait',
  why: 'Why it waits; null: it does not wait',
  inUse: 'How many it runs now',
};
