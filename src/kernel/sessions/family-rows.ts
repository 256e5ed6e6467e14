// The rows of a family of sessions, as transactions see that have locked them.
import type { SessionId, SessionKey } from '../../core/ids.ts';
import { literalQuery } from '../../database/literal-query.ts';
import type { EndingRun, FamilyState } from '../rules/family.ts';

/** What of a session never changes. */
export interface SessionPlace {
  id: SessionId;
  key: SessionKey;
  agentId: string;
  /** How many sessions are above it. */
  depth: number;
}

export const findPlace = literalQuery({
  name: 'find-place',
  purpose: 'Read where the session of a key is in its family; null: there is none.',
  text: `select s.id, s.key, s.agent_id as "agentId", cardinality(s.ancestors) as depth from holdfast.sessions s where s.key = $1`,
  values: (key: string) => [key],
  answer: ([place]: SessionPlace[]) => place ?? null,
});

/** SQL of a run's share of a total of its session `s`: what the runs before it have not used. */
function ownSql(column: string): string {
  return `greatest(0, s.${column} - coalesce((select sum(before.${column}) from holdfast.subagent_runs before
      where before.child_id = run.child_id and before.id <> run.id), 0))::bigint`;
}

/** SQL of what a run `run` of the session `s` has used. */
export const USED_SQL = {
  input_tokens: ownSql('input_tokens'),
  output_tokens: ownSql('output_tokens'),
  cost_micros: `case when s.cost_micros is not null then ${ownSql('cost_micros')} end`,
  unpriced_calls: ownSql('unpriced_calls'),
  is_simulated: 's.is_simulated',
};

/** SQL of a locked session `s`. */
export const FAMILY_SQL = `json_build_object('id', s.id, 'key', s.key, 'ancestors', s.ancestors, 'runId', s.run_id, 'turnId', s.turn_id,
      'isBusy', s.turn_id is not null or s.owner is not null and s.lease_expires_at > clock_timestamp(), 'isArchived', s.archived_at is not null,
      'waiting', s.waiting, 'liveChildren', s.live_children, 'queueMode', s.queue_mode, 'channel', s.channel)`;

/** SQL of the facts of a run `run` that works, with the row `s` of its session. */
export const RUN_SQL = `json_build_object('id', run.id, 'parentId', run.parent_id, 'childId', run.child_id, 'rootId', run.root_id,
      'label', coalesce(run.label, run.task), 'route', run.route, 'deliver', run.deliver::text, 'options', run.options::text,
      'chargedTo', run.charged_to::text, 'isDeleted', run.cleanup = 'delete',
      'runtimeMs', floor(extract(epoch from clock_timestamp() - run.created_at) * 1000),
      'inputTokens', ${USED_SQL.input_tokens}, 'outputTokens', ${USED_SQL.output_tokens})`;

/**
 * JSON of columns is text as it is stored: JSON null as `deliver` means nowhere, and no value the
 * default of the configuration.
 */
export interface RunRow extends EndingRun {
  rootId: string;
  route: string;
  deliver: string | null;
  options: string | null;
  chargedTo: string | null;
  isDeleted: boolean;
}

/**
 * A family whose rows are locked: its sessions, and the run that the session works on with which it
 * began.
 */
export interface LockedFamily {
  family: ReadonlyMap<string, FamilyState>;
  run: RunRow | null;
}
