// The canvas of a session: one row, written by calls of the tool. A call that is made again after a
// crash changes nothing.
import { literalQuery } from '../../../database/literal-query.ts';
import { insertEventsSql } from '../../../kernel/events/events.ts';

export interface NewCanvas {
  sessionKey: string;
  turnId: string;
  /** The fencing number of the claim under which the call runs. */
  epoch: number;
  callId: string;
  /** Each run of the call has the same key. */
  callKey: string;
  title: string | null;
  /** Null: it is cleared. */
  html: string | null;
  bytes: number;
}

export const storeCanvas = literalQuery({
  name: 'store-canvas',
  purpose: 'Store the canvas of a session, once for each call. Answers whether the session was still held.',
  locking: 'The session, then its canvas.',
  text: `with held as materialized (
  select s.id from holdfast.sessions s
  where s.key = $sessionKey and s.turn_id = $turnId::uuid and s.epoch = $epoch::bigint for no key update
),
stored as (
  insert into holdfast.canvases as c (session_id, title, html, turn_id, call_keys)
  select held.id, $title::text, $html::text, $turnId::uuid, array[$callKey::text] from held
  on conflict (session_id) do update set title = excluded.title, html = excluded.html, turn_id = excluded.turn_id, updated_at = clock_timestamp(),
    call_keys = case when c.turn_id = excluded.turn_id then c.call_keys || excluded.call_keys else excluded.call_keys end
  where c.turn_id <> excluded.turn_id or not c.call_keys @> excluded.call_keys
  returning c.session_id, c.turn_id, c.title, c.html is not null as is_shown
),
inserted_events as (
  ${insertEventsSql(`select session_id, turn_id, 'canvas.presented' as type,
      json_build_object('callId', $callId::text, 'title', title, 'bytes', $bytes::int) as data, 0 as n from stored where is_shown`)}
)
select exists (select from held) as "wasHeld"`,
  values: (canvas: NewCanvas) => ({ ...canvas }),
  answer: ([row]: { wasHeld: boolean }[]) => row?.wasHeld === true,
});
