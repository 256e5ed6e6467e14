// A turn that may have asked by a batch of the provider has ended: nothing needs its requests any more.
import { literal } from '../../../database/statement.ts';
import { NOTHING, type Effects } from '../../../kernel/effects/turn-effects.ts';

export const DROP_REQUESTS = literal({
  name: 'drop-requests',
  purpose: 'Drop the requests of an ended turn that still wait, and empty those whose answers it has used.',
  locking: 'The requests.',
  text: `update holdfast.provider_requests r
set params = null, result = null, status = case when used.is_used then r.status else 'dropped' end,
  settled_at = case when used.is_used then r.settled_at else clock_timestamp() end
from holdfast.provider_requests own cross join lateral (
  select exists (select from holdfast.model_calls c where c.turn_id = own.turn_id and c.call_no = own.call_no) as is_used
) as used
where own.turn_id = $1 and r.turn_id = own.turn_id and r.call_no = own.call_no
  and (used.is_used or r.status in ('queued', 'assigned', 'answered', 'errored', 'expired'))`,
});

export const EFFECTS: Effects = {
  'requests-left'(tx, { turnId }) {
    tx.write(DROP_REQUESTS.prepared([turnId]));
    return NOTHING;
  },
};
