// The tools' access to the use cases about sessions: calls become requests, and results become text
// for the agent.
import { cutHead } from '../../core/text.ts';
import { agentOf } from '../../config.ts';
import { shownHistory } from '../../kernel/rules/session-history.ts';
import { mayBeSpawned } from '../../core/subagents.ts';
import { sendBetweenSessions } from './send-between-sessions.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { spawnSubagent, spawnSettingsOf } from './spawn-subagent.ts';
import { steerSubagent, stopRun } from './steer-subagent.ts';
import { findVisible, listVisible, readViewer, type SessionName } from './visible-sessions.ts';
import { listRecentRuns, readEntries, type ListedSession } from './store/subagents.ts';
import { noteYield } from './store/overdue.ts';
import type { Refusal, SeenSession, SeenSubagent, SessionsPort } from './tools-port.ts';
import type { ToolCall } from '../../tools/tool.ts';

const KILLED_BY_PARENT = 'It was killed by the session that spawned it.';

/** Makes the port of a worker. */
export function createSessionsPort(service: Service): SessionsPort {
  const { config, database } = service;
  return {
    spawn: (call, request) => spawnByCall(service, call, request),
    subagents: (call, recentMinutes) => subagents(service, call, recentMinutes),
    async kill(_call, runId) {
      const runs = await stopRun(service, { runId, reason: KILLED_BY_PARENT, isOwn: true });
      return runs === null ? refused(`there is no run ${runId}`) : { kind: 'ok', runs };
    },
    steer: (call, runId, text) => steer(service, call, runId, text),
    async list(call) {
      return (await listVisible(service, await readViewer(service, call.sessionKey))).map(seen);
    },
    async history(call, key, shown) {
      const target = await findVisible(service, await readViewer(service, call.sessionKey), { key });
      if (target === null) return notVisible({ key });
      return { kind: 'ok', items: shownHistory(await readEntries(database, target.id), shown) };
    },
    send: (call, message) => send(service, call, message),
    async noteYield({ sessionKey, turnId }, seconds) {
      await noteYield(database, { sessionKey, turnId, seconds });
    },
    agents({ agentId }) {
      const settings = spawnSettingsOf(config, agentId);
      const ids = config.agents.list.map(({ id }) => id).filter((id) => mayBeSpawned(id, agentId, settings));
      const own = ids.filter((id) => id === agentId);
      return [...own, ...ids.filter((id) => id !== agentId)].map((id) => ({ id, model: agentOf(config, id).model }));
    },
  };
}

async function spawnByCall(
  service: Service,
  { sessionKey, turnId, idempotencyKey }: ToolCall,
  request: Parameters<SessionsPort['spawn']>[1],
): ReturnType<SessionsPort['spawn']> {
  const origin = { sessionKey, turnId, causeKey: `call:${idempotencyKey}`, sentBy: null, idempotency: null };
  const spawned = await spawnSubagent(service, origin, request);
  switch (spawned.kind) {
    case 'spawned':
      return { kind: 'ok', runId: spawned.runId, sessionKey: spawned.childKey };
    case 'refused':
      return refused(`${spawned.field}: ${spawned.message}`);
    case 'limit':
      return refused(spawned.message);
    case 'unknown':
      return refused('this session no longer exists');
    default:
      return spawned satisfies never;
  }
}

async function subagents({ database }: Service, call: ToolCall, recentMinutes: number): Promise<SeenSubagent[]> {
  const runs = await listRecentRuns(database, { parentKey: call.sessionKey, recentMinutes });
  return runs.map(({ runId, childKey, label, task, status, error, createdAt, endedAt }) => ({
    runId,
    sessionKey: childKey,
    label,
    task,
    status,
    error,
    runtimeMs: Math.max(0, (endedAt ?? Date.now()) - createdAt),
  }));
}

async function steer(
  service: Service,
  { sessionKey, turnId, idempotencyKey }: ToolCall,
  runId: string,
  text: string,
): ReturnType<SessionsPort['steer']> {
  const from = { key: sessionKey, turnId };
  const message = { runId, text, from, causeKey: `call:${idempotencyKey}`, sentBy: null, idempotency: null };
  const steered = await steerSubagent(service, message);
  switch (steered.kind) {
    case 'steered':
      return { kind: 'ok', how: steered.isBusy ? 'joins' : 'waits' };
    case 'again':
      return { kind: 'ok', how: 'again' };
    case 'limit':
      return refused(steered.message);
    case 'ended':
      return refused('this subagent has ended and accepts no further tasks');
    case 'unknown':
      return refused('there is no such subagent');
    default:
      return steered satisfies never;
  }
}

async function send(
  service: Service,
  call: ToolCall,
  message: Parameters<SessionsPort['send']>[1],
): ReturnType<SessionsPort['send']> {
  const sent = await sendBetweenSessions(service, call, message);
  switch (sent.kind) {
    case 'sent':
      return { kind: 'ok', sessionKey: sent.targetKey, messageId: sent.messageId };
    case 'unseen':
      return notVisible(message.to);
    case 'itself':
      return refused('this is your own session');
    case 'subagent':
      return refused(`${sent.targetKey} is a working subagent: send to it with subagents(action=steer)`);
    case 'nested':
      return refused('too many nested exchanges: answer your user, or end your turn');
    case 'full':
      return refused(`the inbox of ${sent.targetKey} is full; try again later`);
    default:
      return sent satisfies never;
  }
}

function seen({ key, agentId, kind, label, status, contextTokens, updatedAt }: ListedSession): SeenSession {
  return { key, agentId, kind, label, status, contextTokens, updatedAt: new Date(updatedAt).toISOString() };
}

function notVisible(name: SessionName): Refusal {
  const text = 'key' in name ? name.key : name.label;
  return refused(`${JSON.stringify(cutHead(text, 220))} is not a session that you may see`);
}

function refused(text: string): Refusal {
  return { kind: 'error', text };
}
