// Derives the request of a model call that was made: from the snapshots that its turn was opened with and the entries that were
// there when it was sent. Nothing of it is stored twice.
import type { Entry } from '../core/entry.ts';
import { prepareHistory } from '../core/history/prepare-history.ts';
import type { SystemBlock, ToolSpec } from '../core/model-request.ts';
import { tokenLimits } from '../core/thinking-budget.ts';
import type { ThinkingLevel } from '../config.ts';
import { toWireRequest, type WireRequest } from '../model/wire-request.ts';
import type { Database } from '../store/database.ts';
import { readSnapshots } from '../store/snapshots.ts';

export interface DerivedRequest {
  turnId: string;
  call: number;
  step: number;
  status: string;
  /** The body as it was sent. */
  request: WireRequest;
}

/** The request of call `callNo` of a turn; null when there was no such call. `defaultThinking` holds where the turn set no level. */
export async function deriveRequest(
  database: Database,
  wanted: { turnId: string; callNo: number; defaultThinking: (agentId: string) => ThinkingLevel },
): Promise<DerivedRequest | null> {
  const result = await database.views.query(
    `select t.session_id, t.model, t.thinking, t.system_sha256, t.tools_sha256, s.agent_id, c.step, c.status, c.until_seq
     from holdfast.turns t join holdfast.sessions s on s.id = t.session_id
     join holdfast.model_calls c on c.turn_id = t.id and c.call_no = $2 where t.id = $1`,
    [wanted.turnId, wanted.callNo],
  );
  const row = result.rows[0];
  if (row === undefined) return null;
  const [entries, snapshots] = await Promise.all([
    readEntriesUntil(database, row.session_id, row.until_seq),
    readSnapshots(database, [row.system_sha256, row.tools_sha256]),
  ]);
  const thinking = (row.thinking as ThinkingLevel | null) ?? wanted.defaultThinking(row.agent_id);
  return {
    turnId: wanted.turnId,
    call: wanted.callNo,
    step: row.step,
    status: row.status,
    request: toWireRequest({
      model: row.model,
      ...tokenLimits(thinking),
      system: (snapshots.get(row.system_sha256) ?? []) as SystemBlock[],
      tools: (snapshots.get(row.tools_sha256) ?? []) as ToolSpec[],
      messages: prepareHistory(entries),
    }),
  };
}

async function readEntriesUntil(database: Database, sessionId: string, untilSeq: string): Promise<Entry[]> {
  const result = await database.views.query(
    `select e.id, e.seq::int, e.parent_seq::int as "parentSeq", e.kind, e.role, e.content, e.turn_id as "turnId"
     from holdfast.entries e where e.session_id = $1 and e.seq <= $2 and e.state = 'active'
       and e.transcript_no = (select l.transcript_no from holdfast.entries l where l.session_id = $1 and l.seq = $2)
     order by e.seq`,
    [sessionId, untilSeq],
  );
  return result.rows;
}
