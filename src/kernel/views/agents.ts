// How many crons and sessions agents have.
import { UNLISTED_KINDS } from '../../core/session-key.ts';
import type { AgentView } from '../../contract/agents.ts';
import { viewQuery } from '../../database/literal-query.ts';

/** The condition of the index `sessions_listed` is part of it. */
const LISTED_SQL = UNLISTED_KINDS.map((kind) => `s.kind <> '${kind}'`).join(' and ');

/** The newest sessions are counted, up to this many of all agents together. */
const SESSIONS_MAX = 10_000;

/** Counts of one agent. `isCapped`: there may be more sessions. */
type AgentCounts = Pick<AgentView, 'id' | 'crons' | 'sessions'>;

export const countByAgent = viewQuery({
  name: 'count-by-agent',
  purpose: 'Count crons and the newest sessions by agent. Sessions that lists leave out are not counted.',
  text: `with newest as materialized (
  select agent_id from holdfast.sessions s where ${LISTED_SQL} order by s.id desc limit ${SESSIONS_MAX + 1}
)
select a.id, json_build_object('total', (select count(*) from holdfast.crons c where c.agent_id = a.id),
    'enabled', (select count(*) from holdfast.crons c where c.agent_id = a.id and c.is_enabled)) as crons,
  json_build_object('count', (select count(*) from newest where newest.agent_id = a.id),
    'isCapped', (select count(*) > ${SESSIONS_MAX} from newest)) as sessions
from unnest($1::text[]) as a (id)`,
  values: (ids: string[]) => [ids],
  answer: (counts: AgentCounts[]) => counts,
});
