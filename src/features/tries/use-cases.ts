// Starts a try: a session of its own, with the path of the tried turn up to its prompt, and the
// message that asks again. A request that is repeated with its key finds the session of the first
// by its name, and then its message.
import { createHash } from 'node:crypto';
import { agentOf } from '../../config.ts';
import type { SessionKey } from '../../core/ids.ts';
import { refOfModel } from '../../core/models.ts';
import { agentIdOf, type SessionKind } from '../../core/session-key.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { newId } from '../../ids.ts';
import { forkSession } from '../../kernel/sessions/fork-session.ts';
import { buildNewSession } from '../../kernel/sessions/sessions.ts';
import { acceptMessage, refuseMessage, type AcceptResult } from '../../kernel/use-cases/accept-message.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { choosePromptMode } from '../../prompt/system-input.ts';
import { buildTry, type TryChanges } from './rules.ts';
import { readTriedTurn } from './store/read-tried.ts';

export interface TryRequest {
  changes: TryChanges;
  idempotency: KeyedRequest | null;
  /** The name of the API key that it came with; null: a key without a name. */
  sentBy: string | null;
}

/**
 * `running`: the turn has not ended. `no-prompt`: it has asked the model nothing. `no-inputs`: it
 * has no messages left, and no text was given.
 */
export type TryResult =
  | AcceptResult
  | { kind: 'unknown' }
  | { kind: 'running' }
  | { kind: 'no-prompt' }
  | { kind: 'no-inputs' };

/** Asks again what a turn was asked. Rejects as `acceptMessage` does. */
export async function tryTurn(service: Service, turnId: string, request: TryRequest): Promise<TryResult> {
  const { config, database } = service;
  const { changes, ...sent } = request;
  const tried = await readTriedTurn(database, turnId);
  if (tried === null) return { kind: 'unknown' };
  if (!tried.hasEnded) return { kind: 'running' };
  if (!tried.hasPrompt) return { kind: 'no-prompt' };
  if (tried.bodies.length === 0 && changes.text === undefined) return { kind: 'no-inputs' };
  const agentId = agentIdOf(tried.sessionKey);
  // The store writes only kinds of `sessionKindOf`.
  const promptMode = choosePromptMode(tried.sessionKind as SessionKind, agentOf(config, agentId).promptMode);
  const { model, provider } = tried;
  const asBefore = {
    model: refOfModel({ model, ...(provider === null ? {} : { provider }) }),
    ...(tried.thinking === null ? {} : { thinking: tried.thinking }),
  };
  const body = buildTry(tried.bodies, { ...asBefore, ...changes }, { of: turnId, promptMode, tag: turnId });
  const sessionKey = chooseKey(agentId, turnId, request.idempotency);
  const target = buildNewSession(sessionKey, tried.channel);
  const refused = refuseMessage(service, { sessionKey, body });
  if (refused !== null) return refused;
  const fork = await forkSession(database, {
    sourceKey: tried.sessionKey,
    entryId: null,
    beforeTurnId: turnId,
    target,
  });
  // The session was erased since it was read.
  if (fork.kind === 'unknown') return { kind: 'unknown' };
  return acceptMessage(service, { sessionKey, body, ...sent });
}

/** Asks an agent something in a session without a past. Rejects as `acceptMessage` does. */
export async function tryAgent(service: Service, agentId: string, request: TryRequest): Promise<AcceptResult> {
  const { changes, ...sent } = request;
  const body = buildTry([], changes, { of: null, tag: agentId });
  return acceptMessage(service, { sessionKey: chooseKey(agentId, agentId, request.idempotency), body, ...sent });
}

/** A name that is new, or that of the request with the same key. */
function chooseKey(agentId: string, tried: string, idempotency: KeyedRequest | null): SessionKey {
  const name =
    idempotency === null
      ? newId<string>()
      : createHash('sha256')
          .update(JSON.stringify([tried, idempotency.scope, idempotency.key]))
          .digest('hex')
          .slice(0, 32);
  return `agent:${agentId}:try:${name}` as SessionKey;
}
