// A model call that was made, and the entries that it could show, for deriving its request.
import type { PartedEntry } from '../../rules/request-parts.ts';
import type { CallView, TurnRequestSettings } from '../../../core/view.ts';
import type { ThinkingLevel } from '../../../config.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** A call with what its turn was opened with. */
export interface StoredCall {
  sessionId: string;
  sessionKey: string;
  agentId: string;
  model: string;
  thinking: ThinkingLevel | null;
  promptSeq: number;
  untilSeq: number;
  systemSha256: string;
  toolsSha256: string;
  turnView: TurnRequestSettings;
  view: CallView | null;
  step: number;
  purpose: string;
  status: string;
  requestSha256: string | null;
}

export const readCall = literalQuery({
  name: 'model-call',
  purpose: 'Read a model call, with what its turn was opened with.',
  pool: 'views',
  text: `select t.session_id as "sessionId", s.key as "sessionKey", s.agent_id as "agentId", coalesce(t.asked_model, t.model) as model, t.thinking, t.prompt_seq::int as "promptSeq",
  c.until_seq::int as "untilSeq", t.system_sha256 as "systemSha256", t.tools_sha256 as "toolsSha256", t.view as "turnView",
  c.view, c.step, c.purpose, c.status, c.request_sha256 as "requestSha256"
from holdfast.turns t join holdfast.sessions s on s.id = t.session_id
join holdfast.model_calls c on c.turn_id = t.id and c.call_no = $2 where t.id = $1`,
  values: ({ turnId, callNo }: { turnId: string; callNo: number }) => [turnId, callNo],
  answer: ([call]: StoredCall[]) => call ?? null,
});

/** A summary first. */
export const readCallEntries = literalQuery({
  name: 'call-entries',
  purpose:
    'Read the entries that a call could show: those that were on the active path at that position of the session.',
  pool: 'views',
  text: `select e.id, e.seq::int, e.parent_seq::int as "parentSeq", e.kind, e.role, e.content, e.turn_id as "turnId", e.provenance, e.parts
from holdfast.entries e
where e.session_id = $sessionId and e.seq <= $untilSeq and (e.state = 'active' or e.retired_seq > $untilSeq)
  and not coalesce(e.absences @> $untilSeq::bigint, false)
  and e.transcript_no = (select p.transcript_no from holdfast.entries p where p.session_id = $sessionId and p.seq = $promptSeq)
order by e.kind <> 'summary', e.seq`,
  values: (call: StoredCall) => call,
  answer: (entries: PartedEntry[]) => entries,
});
