// What the fields of processes and of what waits mean, for the OpenAPI document; see field-descriptions.ts.

/** By field, or by schema and field. */
export const WAITING_DESCRIPTIONS: Readonly<Record<string, string>> = {
  host: 'The name of the host',
  pid: 'The id of the process on its host',
  roles: 'The roles of the process',
  'Worker.version': 'The version of Holdfast',
  'Worker.name': 'The name under which it holds locks: the `worker` of turns',
  'Worker.state': 'Whether it runs, drains, or is lost because it has missed three reports',
  'Worker.startedAt': 'When the process was started',
  seenAt: 'When it reported last',
  drainingAt: 'Since when it drains or is asked to; null: it is not',
  queueAwaySince: 'Since when it cannot reach the queue; null: it can',
  lanes: 'What its lanes may run and run now, by lane; empty without the role of the worker',
  'Worker.lanes.slots': 'How many jobs the lane runs at the same time',
  inUse: 'How many it runs now',
};
