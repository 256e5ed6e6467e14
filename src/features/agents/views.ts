// What is stored of agents: how many crons and sessions they have, which prompts and tools the
// newest turns of one of them had, and what all of them did.
import { hash } from 'node:crypto';
import type { UsageItem } from '../../contract/costs.ts';
import { toDollars } from '../../core/prices.ts';
import { KINDS_WITHOUT_EFFECTS, UNLISTED_KINDS } from '../../core/session-key.ts';
import type { Database } from '../../database/database.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { Scope } from '../../core/scope.ts';
import { isSeenText, newestText } from '../../database/scope-sql.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';
import { readSnapshots } from '../../kernel/sessions/snapshots.ts';
import type { AgentView } from './contract.ts';
import { textsOfFiles, type StoredPrompt, type PromptFiles } from './rules.ts';

/** The condition of the index `sessions_listed` is part of it. */
const LISTED_SQL = UNLISTED_KINDS.map((kind) => `s.kind <> '${kind}'`).join(' and ');

/** The newest sessions are counted, up to this many of all agents together. */
const SESSIONS_MAX = 10_000;

/** Counts of one agent. `isCapped`: there may be more sessions. */
type AgentCounts = Pick<AgentView, 'id' | 'crons' | 'sessions'>;

export const countByAgent = viewQuery({
  name: 'count-by-agent',
  purpose:
    'Count crons and the newest sessions of a scope ($2) by agent. Sessions that lists leave out are not counted.',
  text: `with newest as materialized (
  ${newestText(
    { prefixes: '$2', column: 's.scope', max: SESSIONS_MAX },
    (condition, limit) =>
      `select agent_id from holdfast.sessions s where ${LISTED_SQL} and ${condition} order by s.id desc limit ${limit}`,
  )}
)
select a.id, json_build_object('total', (select count(*) from holdfast.crons c where c.agent_id = a.id),
    'enabled', (select count(*) from holdfast.crons c where c.agent_id = a.id and c.is_enabled)) as crons,
  json_build_object('count', (select count(*) from newest where newest.agent_id = a.id),
    'isCapped', (select coalesce(bool_or(is_last), false) from newest)) as sessions
from unnest($1::text[]) as a (id)`,
  values: (ids: string[], scope: Scope) => [ids, scope],
  answer: (counts: AgentCounts[]) => counts,
});

/** The newest turns of all agents that are read for those of one. */
const TURNS_MAX = 5_000;
/** The most different prompts of them, the newest. */
const PROMPTS_MAX = 20;

const OWN_SQL = `(select case when s.kind <> all (array[${KINDS_WITHOUT_EFFECTS.map((kind) => `'${kind}'`).join(', ')}]) then s.agent_id end
    from holdfast.sessions s where s.id = newest.session_id) = $1`;

interface PromptRow {
  systemSha256: string;
  sectionsSha256: string | null;
  toolsSha256: string;
  since: string;
  until: string;
  turnId: string | null;
}

export const readPrompts = viewQuery({
  name: 'prompts-of-agent',
  purpose: `Read the different prompts that turns of an agent ($1) had, newest first, with turns of a scope ($2), of those among the ${TURNS_MAX} newest of all.`,
  text: `with newest as materialized (
  select id, session_id, system_sha256, tools_sha256, view ->> 'sectionsSha256' as sections_sha256, started_at, scope
  from holdfast.turns where kind <> 'compaction' order by id desc limit ${TURNS_MAX}
),
own as materialized (select * from newest where ${OWN_SQL})
select o.system_sha256 as "systemSha256", o.sections_sha256 as "sectionsSha256", (array_agg(o.tools_sha256 order by o.id desc))[1] as "toolsSha256",
  ${isoSql('min(o.started_at)')} as since, ${isoSql('max(o.started_at)')} as until, 
  (array_agg(o.id order by o.id desc) filter (where ${isSeenText('$2', 'o.scope')}))[1] as "turnId"
from own o group by 1, 2 order by max(o.id::text) desc limit ${PROMPTS_MAX}`,
  values: (agentId: string, scope: Scope) => [agentId, scope],
  answer: (rows: PromptRow[]) => rows,
});

/** The files in the prompts of the newest turns of an agent, newest first, and the tools of the newest. */
export interface AgentPrompts {
  files: PromptFiles[];
  /** Null: no such turn is known. */
  toolNames: ReadonlySet<string> | null;
}

export async function viewPrompts(
  { views, database }: { views: ViewDatabase; database: Database },
  { agentId, names, scope }: { agentId: string; names: readonly string[]; scope: Scope },
): Promise<AgentPrompts> {
  const prompts = await readPrompts(views, agentId, scope);
  const [newest] = prompts;
  if (newest === undefined) return { files: [], toolNames: null };
  const hashes = prompts.flatMap(({ systemSha256, sectionsSha256 }) => [systemSha256, sectionsSha256 ?? []].flat());
  const texts = await readSnapshots(database, [...new Set([...hashes, newest.toolsSha256])]);
  const files = prompts.map(({ systemSha256, sectionsSha256, ...when }): PromptFiles => {
    // What is stored under a hash is what the turn was opened with.
    const blocks = (texts.get(systemSha256) ?? []) as StoredPrompt['blocks'];
    const sections = (texts.get(sectionsSha256 ?? '') ?? []) as StoredPrompt['sections'];
    const found = [...textsOfFiles({ blocks, sections }, names)];
    return { ...when, files: new Map(found.map(([name, text]) => [name, { sha256: hash('sha256', text), text }])) };
  });
  const tools = (texts.get(newest.toolsSha256) ?? []) as { name: string }[];
  return { files, toolNames: new Set(tools.map(({ name }) => name)) };
}

const SUMMED = [
  'turns',
  'failedTurns',
  'calls',
  'failures',
  'unpricedCalls',
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'cacheWrite1hTokens',
  'waitMs',
  'turnMs',
  'callMs',
  'firstChunkMs',
] as const satisfies readonly (keyof UsageItem)[];

/** The sums of some days. */
export function sumUsage(days: readonly UsageItem[]): Omit<UsageItem, 'startsAt' | 'group'> {
  const sums = Object.fromEntries(SUMMED.map((name) => [name, days.reduce((sum, day) => sum + day[name], 0)]));
  const known = days.flatMap(({ costMicros }) => costMicros ?? []);
  // Nothing was used, or some of it has a price.
  const costMicros = days.length > 0 && known.length === 0 ? null : known.reduce((sum, micros) => sum + micros, 0);
  return {
    // The names are those of the list.
    ...(sums as Record<(typeof SUMMED)[number], number>),
    costUsd: toDollars(costMicros),
    costMicros,
    simulated: days.some(({ simulated }) => simulated),
  };
}
