// Scores as the API lists and counts them.
import type { CountedBy, ScoreCounts, ScoreView } from '../../contract/scores.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { listOf } from '../../database/list-of.ts';
import { newestText } from '../../database/scope-sql.ts';
import { ADMIN, callerOfKey } from '../../core/key-role.ts';
import { scoreSql } from '../../kernel/views/score-sql.ts';
import type { Scope } from '../../core/scope.ts';

export interface ScoreFilter {
  scope: Scope;
  turnId?: string | undefined;
  sessionKey?: string | undefined;
  agentId?: string | undefined;
  name?: string | undefined;
  author?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
}

const SESSION_SQL = 'r.session_id = (select k.id from holdfast.sessions k where k.key = $sessionKey)';

export const scores = listOf<ScoreFilter, { score: ScoreView }, ScoreView>({
  name: 'list-scores',
  purpose: 'Read scores, newest first.',
  text: `select ${scoreSql('r', 's.key')} as score from holdfast.turn_scores r join holdfast.sessions s on s.id = r.session_id`,
  filters: {
    turnId: 'r.turn_id = $turnId',
    sessionKey: SESSION_SQL,
    agentId: 's.agent_id = $agentId',
    name: 'r.name = $name',
    author: 'r.author = $author',
    since: 'r.created_at >= $since',
    until: 'r.created_at < $until',
  },
  seenBy: 'r.scope',
  order: 'r.id desc',
  show: ({ score }) => score,
});

const READ_MAX = 50_000;
const GROUPS_MAX = 200;
const GROUP_SQL = `case $by::text when 'score' then r.name when 'agent' then s.agent_id when 'author' then
    case when $scope::text[] is null or r.author = $caller or not (r.author = '${ADMIN}' or starts_with(r.author, '${callerOfKey('')}')) then r.author end
    else to_char(r.created_at at time zone 'UTC', 'YYYY-MM-DD') end`;

/** Counts the newest scores that a filter finds. */
export const countScores = viewQuery({
  name: 'count-scores',
  purpose:
    'Count scores by name, agent, author or day. To a scope, the keys other than $caller are one group without a name.',
  text: `with found as materialized (
  ${newestText(
    { prefixes: '$scope', column: 'r.scope', max: READ_MAX },
    (condition, limit) =>
      `select ${GROUP_SQL} as name, r.value, case jsonb_typeof(r.value) when 'number' then r.value::numeric end as number from holdfast.turn_scores r join holdfast.sessions s on s.id = r.session_id
  where ${condition} and ($sessionKey::text is null or ${SESSION_SQL}) and ($agentId::text is null or s.agent_id = $agentId) and ($name::text is null or r.name = $name)
    and ($since::timestamptz is null or r.created_at >= $since) and ($until::timestamptz is null or r.created_at < $until)
  order by r.id desc limit ${limit}`,
  )}
)
select name, count(*) filter (where value = 'true' or number > 0)::int as good, count(*) filter (where value = 'false' or number < 0)::int as bad,
  count(*)::int as count, round(avg(number), 4)::float8 as average, (select bool_or(is_last) from found) as "isCapped"
from found group by name order by case when $by = 'day' then name end desc, count(*) desc, name limit ${GROUPS_MAX}`,
  values: (
    group: { by: CountedBy; caller: string },
    filter: Pick<ScoreFilter, 'scope' | 'sessionKey' | 'agentId' | 'name' | 'since' | 'until'>,
  ) => ({ ...group, ...filter }),
  answer: (rows: (ScoreCounts['items'][number] & { isCapped: boolean })[]): ScoreCounts => ({
    items: rows.map(({ isCapped: _isCapped, ...group }) => group),
    isCapped: rows[0]?.isCapped ?? false,
  }),
});
