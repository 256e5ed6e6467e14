// One delivery with its attempts, and how many there are, on the wire.
import { z } from 'zod';
import { DELIVERY_STATUSES } from '../core/statuses.ts';
import { pacing } from './bulk-actions.ts';
import { delivery } from './views.ts';

const count = z.int().min(0);
const status = z.enum(DELIVERY_STATUSES);

export const deliveryDetails = delivery.extend({
  log: z.array(z.strictObject({ attempt: count, at: z.iso.datetime(), status, httpStatus: z.int().nullable() })),
});
export type DeliveryDetails = z.output<typeof deliveryDetails>;

export const deliveryCount = z.strictObject({
  status,
  count,
  isCapped: z.boolean(),
  oldestAt: z.iso.datetime().nullable(),
});
export type DeliveryCount = z.output<typeof deliveryCount>;

/** The body of a discard; it may be absent. The reason is kept in the audit log. */
export const discardRequest = z.strictObject({ reason: pacing.reason });
