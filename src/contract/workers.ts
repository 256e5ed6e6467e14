// Processes on the wire.
import { z } from 'zod';
import { WORKER_STATES } from '../core/waiting/worker-state.ts';

const iso = z.iso.datetime();
const count = z.int().min(0);

export const worker = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  host: z.string(),
  pid: count,
  roles: z.array(z.string()),
  version: z.string(),
  state: z.enum(WORKER_STATES),
  startedAt: iso,
  seenAt: iso,
  drainingAt: iso.nullable(),
  queueAwaySince: iso.nullable(),
  lanes: z.record(z.string(), z.strictObject({ slots: count, inUse: count })),
});
export type WorkerView = z.output<typeof worker>;
