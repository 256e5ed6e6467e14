// Spawning a subagent is one transaction: its session, its run, its first input, the doorbell and
// the counts above it. A crash before the commit leaves nothing of that, and one after it all
// (G18). It is idempotent on its cause, the tool call or the key of the request: a second call
// returns what the first one inserted.
//
// Locking: the rows of the spawning session, of the top of its family (where the live runs are
// counted) and of a subagent that gets another task, in the order of their ids. What is decided on
// is read afterwards, so the limits hold for any number of simultaneous spawns. A new session is
// inserted after the locks; no other transaction can know it.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import { sharedOptions, storedOptions } from '../../../core/input-options.ts';
import type { MessageId, SessionId, SessionKey } from '../../../core/ids.ts';
import { newId } from '../../../ids.ts';
import { chargeOfTurnSql } from '../../../kernel/inbox/charged-inputs.ts';
import { chargedBody, putInputs } from '../../../kernel/inbox/put-inputs.ts';
import type { Database } from '../../../database/database.ts';
import type { KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { TURN_RETRY_MS } from '../../../database/passing-faults.ts';
import { buildChange, mergeAll } from '../../../kernel/queue/rings.ts';
import type { SessionPlace } from '../../../kernel/sessions/family-rows.ts';
import { transaction, type Committing, type Transaction } from '../../../database/transaction.ts';
import { judgeSpawn, type SpawnLimit, type SpawnPlan, type SpawnSettings, type SpawnState } from '../rules/spawn.ts';

/** What spawns or steers a subagent: a tool call of a turn, or a request of a person. */
export interface Cause {
  /** The turn of the tool call; null: a person, who may spawn any agent. */
  turnId: string | null;
  /** Unique without a time limit: with it, nothing is done twice. Null: each call counts. */
  causeKey: string | null;
  /** The name of the API key of a request; null: it has none, or it is a tool call. */
  sentBy: string | null;
  idempotency: KeyedRequest | null;
}

export interface NewSpawn {
  parent: SessionPlace;
  plan: SpawnPlan;
  cause: Cause;
  settings: SpawnSettings;
  /** The child's first input, as JSON text, and the route of its inputs. */
  body: string;
  route: string;
  /** The way that the answer to its announcement goes when it is spawned from outside. */
  originRoute: string;
  /** The subagent that is done with its last task and gets another one. Absent: a new one. */
  again?: { childId: SessionId; childKey: SessionKey } | undefined;
}

export type SpawnResult = { kind: 'spawned'; runId: string; childId: SessionId; childKey: SessionKey } | SpawnLimit;

/**
 * Spawns, or returns what the same cause has made before. Throws when the parent does not exist.
 */
export function storeSpawn(database: Database, spawn: NewSpawn): Promise<Committed<SpawnResult>> {
  const { parent, plan, cause, settings, body, route, again } = spawn;
  const { turnId, sentBy } = cause;
  // Made here, so that a transaction that is made again spawns once.
  const [runId, messageId, childId] = [newId<string>(), newId<MessageId>(), again?.childId ?? newId<SessionId>()];
  const childKey = again?.childKey ?? (`agent:${plan.agentId}:subagent:${newId<string>()}` as SessionKey);
  const spawnLocked = async (tx: Transaction): Promise<Committing<Committed<SpawnResult>>> => {
    const [states, earlier, origin] = await Promise.all([
      lockSpawning(tx, parent.id, childId),
      readEarlierRun(tx, cause.causeKey, runId),
      readOrigin(tx, turnId),
    ]);
    const own = states.get(parent.id);
    const root = states.get(own?.ancestors[0] ?? parent.id);
    if (own === undefined || root === undefined) throw new Error(`There is no session ${parent.id}.`);
    const after = mergeAll([{ after: buildChange(parent.id) }, { after: buildChange(earlier?.childId ?? childId) }]);
    if (earlier !== undefined) return { kind: 'spawned', ...earlier, after };
    const limit = judgeSpawn({ parent: own, root, child: states.get(childId), turnId, settings });
    if (limit !== null) return limit;
    const chargedTo = origin?.chargedTo ?? (sentBy === null ? null : JSON.stringify({ sentBy }));
    const ancestors = [...own.ancestors, parent.id];
    void insertRun(tx, spawn, { runId, childId, childKey, ancestors, rootId: root.id, chargedTo, origin });
    const input = {
      id: messageId,
      sessionId: childId,
      kind: 'message' as const,
      body: chargedBody(body, chargedTo),
      route,
    };
    const put = putInputs(tx, {
      inputs: [{ ...input, mode: 'followup', causeKey: `spawn:${runId}` }],
      keyed: { request: cause.idempotency, result: { runId, childSessionKey: childKey } },
    });
    return async () => ({ kind: 'spawned', runId, childId, childKey, after: mergeAll([{ after }, await put]) });
  };
  return transaction(database.hot, spawnLocked, { retryMs: TURN_RETRY_MS });
}

export const lockSpawning = literalQuery({
  name: 'lock-spawning',
  purpose:
    'Lock a session that spawns, the top of its family and a subagent that gets another task. Answers them by their ids.',
  locking: 'The session rows in the order of their ids.',
  text: `select s.id, s.ancestors, s.run_id as "runId", s.turn_id as "turnId", s.archived_at is not null as "isArchived",
  s.stop_reason is not null as "isStopping", s.live_children as "liveChildren", s.live_descendants as "liveDescendants"
from holdfast.sessions s
where s.id = any (array[$1::uuid, $2::uuid] || (select p.ancestors[1:1] from holdfast.sessions p where p.id = $1))
order by s.id for no key update`,
  values: (parentId: SessionId, childId: SessionId) => [parentId, childId],
  answer: (states: SpawnState[]) => new Map<string, SpawnState>(states.map((state) => [state.id, state])),
});

export const readEarlierRun = literalQuery({
  name: 'earlier-run',
  purpose: 'Read the run that a cause has spawned before.',
  text: `select r.id as "runId", c.id as "childId", c.key as "childKey" from (
  select r.id, r.child_id from holdfast.subagent_runs r where r.cause_key = $1
  union select r.id, r.child_id from holdfast.subagent_runs r where r.id = $2
) as r join holdfast.sessions c on c.id = r.child_id`,
  values: (causeKey: string | null, runId: string) => [causeKey, runId],
  answer: ([run]: { runId: string; childId: SessionId; childKey: SessionKey }[]) => run,
});

/** The newest input of the turn that spawns; JSON is text as it is stored. */
interface Origin {
  route: string;
  deliver: string | null;
  options: string | null;
  /** What the turn counts for. */
  chargedTo: string | null;
}

export const readOrigin = literalQuery({
  name: 'origin-of-spawn',
  purpose: 'Read where the announcement of a run goes that a turn spawns, and what the run counts for.',
  text: `select coalesce(i.body -> 'exchange' -> 'origin' ->> 'route', i.route) as route,
  coalesce(i.body -> 'exchange' -> 'origin' -> 'deliver', i.body -> 'deliver')::text as deliver, (i.body -> 'options')::text as options,
  ${chargeOfTurnSql('$1::uuid')}::text as "chargedTo"
from holdfast.inbox i where i.turn_id = $1 order by i.seq desc limit 1`,
  values: (turnId: string | null) => [turnId],
  answer: ([origin]: Origin[]) => origin,
});

export const insertRun = literalQuery({
  name: 'spawn',
  purpose: 'Insert a run with the session that works on it, and count it above.',
  locking: 'The session rows, which the transaction has locked.',
  text: `with child as (
  insert into holdfast.sessions as s (id, key, agent_id, kind, lane, parent_id, label, model, thinking, ancestors, run_id)
  values ($childId::uuid, $childKey, $agentId, 'subagent', 'subagent', $parentId::uuid, $label::text, $model, $thinking, $ancestors::uuid[],
    $runId::uuid)
  on conflict (id) do update set run_id = excluded.run_id
),
run as (
  insert into holdfast.subagent_runs (id, parent_id, child_id, root_id, depth, label, task, cleanup, mode, deadline_at, cause_key, route,
    deliver, charged_to, options)
  values ($runId::uuid, $parentId::uuid, $childId::uuid, $rootId::uuid, cardinality($ancestors::uuid[]), $label::text, $task, $cleanup, $mode,
    case when $timeoutSeconds::int > 0 then clock_timestamp() + $timeoutSeconds::int * interval '1 second' end, $causeKey, $route, $deliver::json,
    $chargedTo::json, $options::json)
)
update holdfast.sessions s
set live_children = s.live_children + (s.id = $parentId::uuid)::int, live_descendants = s.live_descendants + (s.id = $rootId::uuid)::int,
  updated_at = clock_timestamp()
where s.id in ($parentId::uuid, $rootId::uuid)`,
  values: (
    { parent, plan, cause, originRoute }: NewSpawn,
    { origin, ...made }: { origin: Origin | undefined; [column: string]: unknown },
  ) => ({
    ...plan,
    ...made,
    parentId: parent.id,
    timeoutSeconds: plan.runTimeoutSeconds,
    causeKey: cause.causeKey,
    route: origin?.route ?? originRoute,
    deliver: origin?.deliver ?? (plan.deliver === undefined ? null : JSON.stringify(plan.deliver)),
    options: cause.turnId === null ? storedOptions(sharedOptions(plan.options ?? {})) : (origin?.options ?? null),
  }),
});
