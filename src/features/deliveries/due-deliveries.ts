// The deliveries that the reconciler rings for: those that are due again, and those whose ring was lost.
import type { Process, ProcessPart } from '../../kernel/processes/process-part.ts';
import { readDueDeliveries } from './store/outbox.ts';

export function openDueDeliveries({
  service,
  logger,
}: Pick<Process, 'logger'> & { service: Pick<Process['service'], 'database'> }): ProcessPart {
  return {
    async due() {
      const { rings, expired } = await readDueDeliveries(service.database);
      for (const { id, lastStatus, ...delivery } of expired) {
        const facts = { deliveryId: id, ...delivery, code: 'delivery_expired', httpStatus: lastStatus };
        logger.warn(facts, 'Delivery expired');
      }
      return rings;
    },
  };
}
