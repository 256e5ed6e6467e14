// Which of the copied files of this machine are still needed. A copy has the id of its delivery,
// which is also that of the first part.
import { literalQuery } from '../../../database/literal-query.ts';

/** A delivery that was not sent can be sent again with its file for so long. */
const REDRIVABLE_FOR = '7 days';
/**
 * The receiver of a webhook has so long to read the file, after it has acknowledged the delivery.
 */
const READABLE_FOR = '1 hour';

export const readCopyStates = literalQuery({
  name: 'read-copy-states',
  purpose: 'Read which deliveries ($ids) exist, and whether they still need their files.',
  pool: 'views',
  text: `select d.id, exists (
  select from holdfast.deliveries part
  where part.session_id = d.session_id and part.seq = d.seq and part.payload -> 'media' is not null and (
    part.status in ('pending', 'sending')
    or (part.status in ('failed', 'expired', 'unknown') and part.settled_at > clock_timestamp() - interval '${REDRIVABLE_FOR}')
    or (part.channel = 'webhook' and part.settled_at > clock_timestamp() - interval '${READABLE_FOR}'))
) as "isNeeded"
from holdfast.deliveries d where d.id = any ($ids::uuid[])`,
  values: (ids: readonly string[]) => ({ ids }),
  answer: (rows: { id: string; isNeeded: boolean }[]) => new Map(rows.map(({ id, isNeeded }) => [id, isNeeded])),
});
