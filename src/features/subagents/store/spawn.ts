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
import type { SpawnPlan, SpawnRefusal } from '../../../core/subagents.ts';
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
import { judgeSpawn, type SpawnLimits, type SpawnState } from '../rules.ts';

export interface NewSpawn {
  parent: SessionPlace;
  plan: SpawnPlan;
  /** The child's first input, as JSON text, and the route of its inputs. */
  body: string;
  route: string;
  /**
   * The cause of the spawn, unique without a time limit; null: each call spawns another subagent.
   */
  causeKey: string | null;
  /** The turn whose tool call it is; null: it is spawned from outside. */
  turnId: string | null;
  /**
   * The name of the API key of the request that spawns it; null or absent: none, or it is a tool
   * call.
   */
  sentBy?: string | null;
  /** The way that the answer to its announcement goes when it is spawned from outside. */
  originRoute: string;
  limits: SpawnLimits;
  /** The key of the request that spawns it. */
  idempotency?: KeyedRequest | null | undefined;
  /** Gives another task to a subagent that is done with its last. Absent: a new one. */
  again?: { childId: SessionId; childKey: SessionKey };
}

export type SpawnResult =
  | { kind: 'spawned'; runId: string; childId: SessionId; childKey: SessionKey }
  | { kind: 'refused'; code: SpawnRefusal; count: number };

/**
 * Spawns, or returns what the same cause has made before. Throws when the parent does not exist.
 */
export function storeSpawn(database: Database, spawn: NewSpawn): Promise<Committed<SpawnResult>> {
  const { plan, again } = spawn;
  const made: MadeIds = {
    runId: newId<string>(),
    messageId: newId<MessageId>(),
    childId: again?.childId ?? newId<SessionId>(),
    childKey: again?.childKey ?? (`agent:${plan.agentId}:subagent:${newId<string>()}` as SessionKey),
  };
  return transaction(database.hot, (tx) => spawnLocked(tx, spawn, made), { retryMs: TURN_RETRY_MS });
}

/** What the caller makes, so that a transaction that is made again spawns once. */
interface MadeIds {
  runId: string;
  messageId: MessageId;
  childId: SessionId;
  childKey: SessionKey;
}

async function spawnLocked(
  tx: Transaction,
  spawn: NewSpawn,
  made: MadeIds,
): Promise<Committing<Committed<SpawnResult>>> {
  const { parent, body, route, causeKey, turnId, limits, sentBy = null, idempotency = null } = spawn;
  const { runId, messageId: id, childId, childKey } = made;
  const [states, earlier, origin] = await Promise.all([
    lockSpawning(tx, parent.id, childId),
    readEarlierRun(tx, causeKey, runId),
    readOrigin(tx, turnId),
  ]);
  const own = states.get(parent.id);
  const root = states.get(own?.ancestors[0] ?? parent.id);
  if (own === undefined || root === undefined) throw new Error(`There is no session ${parent.id}.`);
  const after = mergeAll([{ after: buildChange(parent.id) }, { after: buildChange(earlier?.childId ?? childId) }]);
  if (earlier !== undefined) return { kind: 'spawned', ...earlier, after };
  const refusal = judgeSpawn({ parent: own, root, child: states.get(childId), turnId, limits });
  if (refusal !== null) return { kind: 'refused', ...refusal };
  const chargedTo = origin?.chargedTo ?? (sentBy === null ? null : JSON.stringify({ sentBy }));
  void insertSpawn(tx, { spawn, made, ancestors: [...own.ancestors, parent.id], rootId: root.id, origin, chargedTo });
  const put = putInputs(tx, {
    inputs: [
      {
        id,
        sessionId: childId,
        kind: 'message',
        body: chargedBody(body, chargedTo),
        route,
        mode: 'followup',
        causeKey: `spawn:${runId}`,
      },
    ],
    keyed: { request: idempotency, result: { runId, childSessionKey: childKey } },
  });
  return async () => ({ kind: 'spawned', runId, childId, childKey, after: mergeAll([{ after }, await put]) });
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

interface Spawned {
  spawn: NewSpawn;
  made: MadeIds;
  ancestors: readonly string[];
  rootId: string;
  origin: Origin | undefined;
  chargedTo: string | null;
}

export const insertSpawn = literalQuery({
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
  values: ({ spawn: { parent, plan, causeKey, turnId, originRoute }, made, origin, ...more }: Spawned) => ({
    ...plan,
    ...made,
    ...more,
    parentId: parent.id,
    timeoutSeconds: plan.runTimeoutSeconds,
    causeKey,
    route: origin?.route ?? originRoute,
    deliver: origin?.deliver ?? (plan.deliver === undefined ? null : JSON.stringify(plan.deliver)),
    options: turnId === null ? storedOptions(sharedOptions(plan.options ?? {})) : (origin?.options ?? null),
  }),
});
