// How long the first request of an input would be: its turn is assembled as if a worker had claimed
// it in a new session, and nothing is stored.
import { agentOf } from '../../config.ts';
import type { BatchInput } from '../../core/inbound.ts';
import type { MessageId, SessionId, SessionKey, TurnId } from '../../core/ids.ts';
import { refOfModel } from '../../core/models.ts';
import { estimatePrefixTokens, estimatePromptTokens } from '../../core/content-size.ts';
import { agentIdOf, sessionKindOf } from '../../core/session-key.ts';
import { newId } from '../../ids.ts';
import type { SessionClaim, WaitingInput } from '../sessions/claim-session.ts';
import type { ClaimedSession } from '../sessions/claimed-session.ts';
import type { TurnContext } from '../turn/context.ts';
import { Transcript } from '../turn/transcript-cache.ts';
import { assembleTurn } from '../turn/open/assemble-turn.ts';
import { decidePast } from '../turn/open/open-view.ts';
import type { BatchItem, MeasuredPrompt } from './service.ts';
import { settingsFor } from '../turn/open/write-prompt.ts';

/** Measures the prompt of an item of a batch. Throws `TurnFailed` when it cannot be assembled. */
export async function measurePrompt(context: TurnContext, { sessionKey, input }: BatchItem): Promise<MeasuredPrompt> {
  const agentId = agentIdOf(sessionKey);
  const inputs = [waitingInput(input, context.clock.now().getTime())];
  const agent = settingsFor(context.config, agentOf(context.config, agentId), inputs);
  const session = newSession(sessionKey, agentId);
  const claim: SessionClaim = {
    kind: 'claimed',
    session,
    inputs,
    events: [],
    overflow: [],
    entries: [],
    isWhole: true,
    openTurn: null,
    blocks: [],
  };
  const past = decidePast(context, { session, agent, transcript: new Transcript(0), inputs });
  const assembly = await assembleTurn(context, { turnId: newId<TurnId>(), claim, inputs, agent, past });
  if (assembly.failure !== null) throw assembly.failure;
  const { request, prompt } = assembly;
  return {
    promptTokens: estimatePromptTokens(request, prompt.text),
    prefixTokens: estimatePrefixTokens(request),
    model: refOfModel(request),
  };
}

function waitingInput(body: BatchInput, receivedAt: number): WaitingInput {
  return {
    id: newId<MessageId>(),
    seq: 1,
    kind: 'batch',
    body,
    route: '',
    mode: null,
    traceparent: null,
    receivedAt,
  };
}

function newSession(key: SessionKey, agentId: string): ClaimedSession {
  return {
    id: newId<SessionId>(),
    key,
    agentId,
    kind: sessionKindOf(key),
    lane: 'batch',
    parentId: null,
    runId: null,
    depth: 0,
    label: null,
    channel: null,
    queueMode: null,
    model: null,
    thinking: null,
    reasoning: null,
    epoch: 1,
    waiting: 1,
    transcriptNo: 1,
    transcriptVersion: 0,
    entrySeq: 0,
    leafSeq: null,
    contextTokens: 0,
    wasAborted: false,
    stop: null,
    queueDebounceMs: null,
    queueCap: null,
    steerSeq: 0,
    overflowed: 0,
    heldSeq: 0,
    lostClaims: 0,
    collectMax: null,
    view: {},
  };
}
