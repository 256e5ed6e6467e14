// Polls an agent now, on request: at any hour, and also when nothing has changed.
import { agentOf } from '../../config.ts';
import type { MessageId } from '../../core/ids.ts';
import { canonicalSessionKey } from '../../core/session-key.ts';
import { newId } from '../../ids.ts';
import { buildPollInput } from './poll-input.ts';
import { openManualPoll } from './store/heartbeats.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { settlePoll } from './store/settle-poll.ts';
import { buildNewSession } from '../../kernel/sessions/sessions.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

/**
 * How long this process may take to put a requested poll into its inbox; afterwards a scheduler
 * does it.
 */
const POLL_LEASE_MS = 10_000;

/** Polls an agent; resolves with the id of the poll, and rejects with `UnknownAgentError`. */
export async function pollAgent(service: Service, agentId: string, idempotency: KeyedRequest | null): Promise<string> {
  const { config, database, inbox, publish } = service;
  const agent = agentOf(config, agentId);
  const sessionId = await inbox.ensureSession(buildNewSession(canonicalSessionKey(`agent:${agentId}:main`)));
  const id = newId<string>();
  // The owner of this one poll.
  const owner = newId<string>();
  const poll = { id, agentId, sessionId, owner, leaseMs: POLL_LEASE_MS, idempotency };
  const { lastUrl, nowMs } = await openManualPoll(database, poll);
  const about = { occasion: 'manual' as const, file: null, tasks: [], lastUrl, nowMs };
  const { body, route } = buildPollInput(agent, about);
  const result = config.heartbeat.enabled
    ? { poll: { messageId: newId<MessageId>(), body: JSON.stringify(body), route } }
    : { reason: 'disabled' };
  publish(await settlePoll(database, { id, owner, ...result }));
  return id;
}
