// Carries out what ends of turns have left to be done (`turn-effects.ts`): each effect once, in the
// order of the ends of its session, by a transaction that also deletes its row. The process that
// has committed the end does so right after it; what a crash has left is carried out by the
// reconciler of any process.
import type { AfterCommit, Committed } from '../queue/after-commit.ts';
import type { SessionId, TurnId } from '../../core/ids.ts';
import type { FamilyState } from '../rules/family.ts';
import { chargeOfTurnSql } from '../inbox/charged-inputs.ts';
import { chargedBody, putInputs } from '../inbox/put-inputs.ts';
import { TURN_RETRY_MS } from '../../database/passing-faults.ts';
import { mergeAll } from '../queue/rings.ts';
import type { WorkQuestion } from '../queue/work-watch.ts';
import { literalQuery } from '../../database/literal-query.ts';
import { transaction, type Committing, type Transaction } from '../../database/transaction.ts';
import { FAMILY_SQL, RUN_SQL, type LockedFamily, type RunRow } from '../sessions/family-rows.ts';
import {
  NOTHING,
  type CarryOut,
  type EffectParts,
  type EffectOf,
  type Effects,
  type Told,
  type TurnEffect,
} from './turn-effects.ts';

const SESSIONS_MAX = 100;

/**
 * SQL of whether an effect `e` of some kinds is left: the process that has committed it carries it
 * out sooner.
 */
const isLeftSql = (kinds: string): string =>
  `e.kind = any (${kinds}::text[]) and e.created_at < clock_timestamp() - interval '250 milliseconds'`;

export const takeEffects = literalQuery({
  name: 'take-effects',
  purpose:
    'Take the effects of a session of these kinds. Answers them, with the locked rows of the session, of the sessions above it, and of those that get a message.',
  locking: 'The session rows in the order of their ids, then the effects.',
  text: `with locked as materialized (
  select s.* from holdfast.sessions s
  where s.id = any (array[$1::uuid] || array(select unnest(own.ancestors) from holdfast.sessions own where own.id = $1)
    || array(select (e.payload -> 'message' ->> 'sessionId')::uuid from holdfast.effects e where e.session_id = $1))
  order by s.id for no key update
),
taken as (
  delete from holdfast.effects e using locked l where e.session_id = l.id and l.id = $1 and e.kind = any ($2::text[])
  returning e.id, e.kind, e.payload, e.created_at
)
select (select json_agg(${FAMILY_SQL}) from locked s) as family,
  (select ${RUN_SQL} from locked s join holdfast.subagent_runs run on run.id = s.run_id where s.id = $1) as run,
  (select json_agg(json_build_object('kind', kind, 'payload', payload) order by created_at, id) from taken) as effects`,
  values: (sessionId: SessionId, kinds: string[]) => [sessionId, kinds],
  answer: ([taken]: Taken[]) => ({
    family: new Map((taken?.family ?? []).map((member) => [member.id, member])),
    run: taken?.run ?? null,
    effects: (taken?.effects ?? []).map(({ kind, payload }) => ({ kind, ...payload }) as TurnEffect),
  }),
});

interface Taken {
  family: FamilyState[] | null;
  run: RunRow | null;
  effects: { kind: string; payload: object }[] | null;
}

/** Who carries out what, with what the kernel carries out itself. */
export function joinEffects(brought: readonly Effects[]): Effects {
  return Object.assign({ 'message-sent': sendMessage } satisfies Effects, ...brought);
}

/** Carries out the effects of a session, if there are any. */
export async function carryOutEffects(
  { database, effects: all }: EffectParts,
  sessionId: SessionId,
): Promise<AfterCommit> {
  const carryOutAll = async (tx: Transaction): Promise<Committing<AfterCommit>> => {
    const { effects, ...locked } = await takeEffects(tx, sessionId, Object.keys(all));
    const held = { sessionId, ...locked };
    const told: Told = { inputs: [], events: [] };
    const lastEnd = effects.findLast(({ kind }) => kind === 'run-ended');
    for (const effect of effects) {
      // A turn with another one after it has not ended the run.
      const isPassed = effect.kind === 'run-ended' && effect !== lastEnd;
      const carryOut = all[effect.kind] as CarryOut<TurnEffect>;
      const { inputs, events } = await carryOut(tx, isPassed ? { ...effect, end: null } : effect, held);
      told.inputs.push(...inputs);
      told.events.push(...events);
    }
    const put = putInputs(tx, told);
    return async () => (await put).after;
  };
  return transaction(database.hot, carryOutAll, { retryMs: TURN_RETRY_MS });
}

export const readChargeOfTurn = literalQuery({
  name: 'charge-of-turn',
  purpose: 'Read what a turn counts for.',
  text: `select ${chargeOfTurnSql('$1::uuid')}::text as "chargedTo"`,
  values: (turnId: TurnId) => [turnId],
  answer: ([charge]: { chargedTo: string | null }[]) => charge?.chargedTo ?? null,
});

/** A message finds an archived session as if there were none. */
async function sendMessage(
  tx: Transaction,
  { message, turnId }: EffectOf<'message-sent'>,
  { family }: Pick<LockedFamily, 'family'>,
): Promise<Told> {
  if (family.get(message.sessionId)?.isArchived !== false) return NOTHING;
  const body = chargedBody(message.body, await readChargeOfTurn(tx, turnId));
  return { inputs: [{ ...message, kind: 'message', mode: 'followup', body }], events: [] };
}

export const readLeftEffects = literalQuery({
  name: 'left-effects',
  purpose: 'Read which sessions have the oldest effects of these kinds that are left.',
  text: `select e.session_id as "sessionId" from holdfast.effects e where ${isLeftSql('$1')} group by e.session_id order by min(e.created_at) limit ${SESSIONS_MAX}`,
  retryMs: 0,
  values: (kinds: string[]) => [kinds],
  answer: (sessions: { sessionId: SessionId }[]) => sessions,
});

/** Whether effects of these kinds are left. */
export const leftWork = (effects: Effects): WorkQuestion => ({
  sql: `exists (select from holdfast.effects e where ${isLeftSql('$leftKinds')})`,
  values: () => ({ leftKinds: Object.keys(effects) }),
});

/**
 * Carries out what processes have left that crashed. One that fails is reported, and tried again
 * the next time.
 */
export async function carryOutLeftEffects(parts: EffectParts): Promise<Committed<object>[]> {
  const left = await readLeftEffects(parts.database, Object.keys(parts.effects));
  const done: Committed<object>[] = [];
  for (const { sessionId } of left) done.push({ after: await attemptEffects(parts, sessionId) });
  return done;
}

/**
 * The same right after the end of a turn: the end is committed, so a fault is left to the
 * reconciler.
 */
export async function attemptEffects(parts: EffectParts, sessionId: SessionId): Promise<AfterCommit> {
  try {
    return await carryOutEffects(parts, sessionId);
  } catch (error) {
    parts.database.outages.report(error, 'Effects of a turn could not be carried out; the reconciler tries again', {
      sessionId,
    });
    return mergeAll([]);
  }
}
