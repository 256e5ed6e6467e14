// What may be done with a subagent from outside. One more message joins the running turn or is the
// next one; a subagent that was kept for further tasks and has ended starts again with it. Or its
// run is stopped.
import type { MessageId } from '../../core/ids.ts';
import { withOptions } from '../../core/input-options.ts';
import type { SessionMessage } from '../../core/session-message.ts';
import { storableText } from '../../core/text.ts';
import { newId } from '../../ids.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { NewSpawn } from './store/spawn.ts';
import { findPlace } from '../../kernel/sessions/family-rows.ts';
import { findRun, killRun, steerRun, type RunFacts, type RunKill } from './store/subagents.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { childRoute, spawnPlanned, spawnSettingsOf } from './spawn-subagent.ts';

/** One more message to a subagent. `from`: the session that sends it; null: a person. */
export interface SteerMessage {
  runId: string;
  text: string;
  from: { key: string; turnId: string } | null;
  causeKey: string | null;
  /** The name of the API key of a person's request; null: it has none, or a tool call steers. */
  sentBy: string | null;
  idempotency: KeyedRequest | null;
}

/**
 * `isBusy`: it joins a running turn. `again`: the subagent had ended and has started again.
 * `ended`: it had ended and accepts no further tasks.
 */
export type SteerAnswer =
  | { kind: 'steered'; messageId: MessageId; isBusy: boolean }
  | { kind: 'again'; runId: string }
  | { kind: 'limit'; message: string }
  | { kind: 'ended' | 'unknown' };

export async function steerSubagent(service: Service, message: SteerMessage): Promise<SteerAnswer> {
  const { config, database, publish } = service;
  const { runId, from, causeKey, idempotency } = message;
  const run = await findRun(database, runId);
  if (run === null) return { kind: 'unknown' };
  const text = storableText(message.text);
  // The run's own, so that it may join its turn.
  const said = { text, ...withOptions(run.options) };
  const body: SessionMessage | { text: string } =
    from === null
      ? said
      : { ...said, provenance: { kind: 'inter_session', sourceSession: from.key, sourceTool: 'subagents' } };
  const messageId = newId<MessageId>();
  const steered = publish(
    await steerRun(database, {
      runId,
      messageId,
      body: JSON.stringify(body),
      route: childRoute(config),
      causeKey,
      idempotency,
    }),
  );
  if (steered.kind === 'steered') return { kind: 'steered', messageId, isBusy: steered.isBusy };
  return run.mode === 'session' ? startAgain(service, run, { ...message, text }) : { kind: 'ended' };
}

/** A further task for a subagent that was kept for that. */
async function startAgain(service: Service, run: RunFacts, message: SteerMessage): Promise<SteerAnswer> {
  const { config, database } = service;
  const parent = await findPlace(database, run.parentKey);
  if (parent === null) return { kind: 'unknown' };
  const plan: NewSpawn['plan'] = {
    agentId: run.childKey.split(':')[1] ?? parent.agentId,
    task: message.text,
    label: run.label,
    model: null,
    thinking: null,
    runTimeoutSeconds: spawnSettingsOf(config, parent.agentId).runTimeoutSeconds,
    cleanup: run.cleanup,
    mode: run.mode,
    ...(run.isUndelivered ? { deliver: null } : run.deliver === null ? {} : { deliver: run.deliver }),
    options: run.options,
  };
  const { from, causeKey, sentBy, idempotency } = message;
  const origin = { turnId: from?.turnId ?? null, causeKey, sentBy, idempotency };
  const again = { childId: run.childId, childKey: run.childKey };
  const spawned = await spawnPlanned(service, { parent, origin, plan, again });
  return spawned.kind === 'spawned'
    ? { kind: 'again', runId: spawned.runId }
    : { kind: 'limit', message: spawned.message };
}

// Stops the run of a subagent. Workers notice within a second (G24).

/**
 * Ends a run and, unless they are kept, all runs below it; resolves with how many have ended by it.
 * Null: no such run.
 */
export async function stopRun(service: Service, run: RunKill): Promise<number | null> {
  const stopped = service.publish(await killRun(service, run));
  if (stopped === null) return null;
  return stopped.kind === 'stopped' ? stopped.runs : 0;
}
