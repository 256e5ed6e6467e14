// Processes on the wire.
import { z } from 'zod';
import { WORKER_STATES } from '../kernel/rules/why.ts';
import { text, uuid, iso, count, startedAt, lane, sessionKey } from './fields.ts';

export const worker = z.strictObject({
  id: uuid.describe('The id of the process'),
  name: text.describe('The name under which it holds locks: the `worker` of turns'),
  title: text.describe('The process for people: its host and its number'),
  host: text.describe('The name of its host'),
  pid: count.describe('The process id on its host'),
  roles: z.array(text).describe('The roles of the process'),
  version: text.describe('The version of Holdfast that the process runs'),
  state: z.enum(WORKER_STATES).describe('`running`, `draining`, or `lost` because it missed three reports'),
  startedAt,
  seenAt: iso.describe('When it last reported'),
  drainingAt: iso.nullable().describe('When it started to drain or was asked to; null: it is not draining'),
  queueAwaySince: iso.nullable().describe('When it lost the connection to the queue; null: it is connected'),
  memoryBytes: count.nullable().describe('The memory that the process holds, in bytes; null: not reported'),
  loopDelayMs: z
    .number()
    .nullable()
    .describe(
      'The 99th percentile of the delay of its event loop between its last two reports, in milliseconds; null: not reported',
    ),
  running: z
    .array(
      z.strictObject({
        turnId: uuid.describe('The id of the turn'),
        sessionKey,
        lane,
        startedAt: iso.describe('When the turn started, on whichever worker'),
      }),
    )
    .describe('The turns that it is running, oldest first, at most 100'),
  lanes: z
    .record(
      text,
      z.strictObject({
        slots: count.describe('The number of jobs that the lane runs at once'),
        inUse: count.describe('The number of jobs that the lane is running'),
      }),
    )
    .describe('The slots of its lanes and how many are in use, by lane; empty without the role worker'),
});
export type WorkerView = z.output<typeof worker>;
