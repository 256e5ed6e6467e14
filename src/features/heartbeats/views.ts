// Polls as the API shows them: made or skipped, with the results of those that were made.
import type { HeartbeatView } from './contract.ts';
import { listOf } from '../../database/list-of.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';

export const heartbeats = listOf<{ agentId?: string | undefined; status?: string | undefined }, HeartbeatView>({
  name: 'list-heartbeats',
  purpose: 'Read polls, newest first. A poll that was made has failed also when its message did.',
  text: `select h.id, h.agent_id as "agentId", s.key as "sessionKey", ${isoSql('h.scheduled_for')} as "scheduledFor", h.trigger, h.status,
  h.reason, h.detail, coalesce(h.result, case when i.status in ('failed', 'cancelled', 'dropped') then 'failed' end) as result,
  h.message_id as "messageId", i.turn_id as "turnId", ${isoSql('h.settled_at')} as "settledAt"
from holdfast.heartbeats h join holdfast.sessions s on s.id = h.session_id left join holdfast.inbox i on i.id = h.message_id`,
  filters: { agentId: 'h.agent_id = $agentId', status: 'h.status = $status' },
  order: 'h.id desc',
});
