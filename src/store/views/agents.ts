// How many crons and sessions agents have.
import { literal } from '../statement.ts';
import type { ViewDatabase } from './page.ts';

/** The newest sessions are counted, up to this many of all agents together. */
const SESSIONS_MAX = 10_000;

export interface AgentCounts {
  crons: { total: number; enabled: number };
  /** `isCapped`: there may be more. */
  sessions: { count: number; isCapped: boolean };
}

export const COUNT_BY_AGENT = literal({
  name: 'count-by-agent',
  purpose: 'Count crons and the newest sessions by agent. Sessions of batches are left out.',
  text: `with newest as materialized (
  select agent_id from holdfast.sessions s where s.kind <> 'batch' order by s.id desc limit ${SESSIONS_MAX + 1}
)
select a.id, (select count(*)::int from newest where newest.agent_id = a.id) as sessions,
  (select count(*) > ${SESSIONS_MAX} from newest) as "isCapped",
  (select count(*)::int from holdfast.crons c where c.agent_id = a.id) as crons,
  (select count(*)::int from holdfast.crons c where c.agent_id = a.id and c.is_enabled) as enabled
from unnest($1::text[]) as a (id)`,
});

interface CountRow {
  id: string;
  sessions: number;
  isCapped: boolean;
  crons: number;
  enabled: number;
}

/** The counts of these agents, by their ids. */
export async function countByAgent(db: ViewDatabase, ids: string[]): Promise<Map<string, AgentCounts>> {
  const { rows } = await db.query<CountRow>(COUNT_BY_AGENT.prepared([ids]));
  return new Map(
    rows.map(({ id, sessions, isCapped, crons, enabled }) => [
      id,
      { crons: { total: crons, enabled }, sessions: { count: sessions, isCapped } },
    ]),
  );
}
