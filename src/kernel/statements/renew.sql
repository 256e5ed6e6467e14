-- renew
-- Purpose: Renew the leases of one owner. Answers the sessions that it still holds.
-- Locking: The session rows in the order of their ids.
prepare "renew" as
/* renew */
with input as (select * from unnest($1::uuid[], $2::bigint[]) as input (session_id, epoch)),
locked as materialized (
  select s.id from holdfast.sessions s join input on input.session_id = s.id
  where s.epoch = input.epoch and s.owner = $3 order by s.id for no key update of s
)
update holdfast.sessions s set lease_expires_at = clock_timestamp() + $4 * interval '1 millisecond'
from locked where s.id = locked.id
returning s.id
;
