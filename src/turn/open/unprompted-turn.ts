// Turns that say nothing to the model: they put no prompt into the transcript, but are claimed, recorded, stopped and resumed like any
// other.
import { modelRefOf } from '../../config.ts';
import type { TurnId } from '../../core/ids.ts';
import { modelOfRef } from '../../core/model-ref.ts';
import { newId } from '../../ids.ts';
import type { RequestBase, TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { snapshotOf } from '../snapshot-cache.ts';
import { openNewTurn, type NewTurnParts } from './open-turn.ts';
import { providerView } from './open-view.ts';

/** `failure`: why it fails as soon as it is open; null: it continues. */
type UnpromptedTurn = Pick<NewTurnParts, 'kind' | 'session' | 'agent' | 'held' | 'transcript' | 'inputs' | 'failure'>;

/** Opens the turn; null when the session was stopped meanwhile. Throws `TurnStopped` when the lock is gone. */
export async function openUnpromptedTurn(context: TurnContext, turn: UnpromptedTurn): Promise<OpenedTurn | null> {
  const { session, agent } = turn;
  const model = modelRefOf(agent, session.model ?? agent.model) ?? agent.model;
  const request: RequestBase = { ...modelOfRef(model), maxTokens: 1, system: [], tools: [] };
  return await openNewTurn(context, {
    ...turn,
    id: newId<TurnId>(),
    request,
    view: providerView(request),
    sessionView: null,
    thinking: null,
    prompt: null,
    promptParts: null,
    orphans: [],
    eventIds: [],
    snapshots: [snapshotOf(request.system)],
  });
}
