// The database side of the tools about sessions: rows, and rings for sessions that have work now. What a session may see and change
// is decided here, from the configuration and the family, never from what a model says (G30).
import type { Inbox } from '../src/store/inbox.ts';
import type { Doorbell } from '../jobs/index.ts';
import { agentOf, type Config, type Lane } from '../src/config.ts';
import { exchangeRoute, type Exchange } from '../src/core/exchange.ts';
import type { MessageId, SessionId } from '../src/core/ids.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../src/core/session-key.ts';
import { shownHistory } from '../src/core/session-history.ts';
import type { SessionMessage } from '../src/core/session-message.ts';
import { maySee, type VisibilityRules } from '../src/core/session-visibility.ts';
import { storableText } from '../src/core/storable-text.ts';
import { mayBeSpawned } from '../src/core/subagent-spawn.ts';
import { newId } from '../src/ids.ts';
import type { Database } from '../src/store/database.ts';
import { createFamily, spawnSettingsOf, type Family, type SteerAnswer } from '../src/store/family.ts';
import type { NeededRing } from '../src/store/session-locks.ts';
import {
  findListed,
  listSessionsOf,
  listTree,
  readEntries,
  readTurnOrigin,
  type ListedSession,
} from '../src/store/session-tools.ts';
import { listRecentRuns } from '../src/store/subagents.ts';
import { noteYield } from '../src/store/yields.ts';
import type { Refusal, SeenSession, SeenSubagent, SessionsPort } from '../src/tools/sessions-port.ts';
import type { ToolCall } from '../src/tools/tool.ts';
import type { Wake } from '../src/wake.ts';

export interface SessionsPortParts {
  config: Config;
  database: Database;
  inbox: Pick<Inbox, 'accept'>;
  doorbell: Pick<Doorbell, 'ring'>;
  wake: Wake;
}

interface Parts extends SessionsPortParts {
  family: Family;
}

const KILLED_BY_PARENT = 'It was killed by the session that spawned it.';

/** Makes the port of a worker. */
export function createSessionsPort(options: SessionsPortParts): SessionsPort {
  const { config, database } = options;
  const family = createFamily({
    config,
    database,
    ring: (rings) => ring(options, rings),
    committed: (sessionId) => options.wake.committed(sessionId, 'progress'),
  });
  const parts: Parts = { ...options, family };
  return {
    spawn: (call, request) => spawn(parts, call, request),
    subagents: (call, recentMinutes) => subagents(parts, call, recentMinutes),
    kill: (call, runId) => kill(parts, call, runId),
    steer: (call, runId, text) => steer(parts, call, runId, text),
    list: (call) => list(parts, call),
    history: (call, sessionKey, shown) => history(parts, call, { sessionKey, shown }),
    send: (call, message) => send(parts, call, message),
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

function ring({ doorbell }: SessionsPortParts, rings: readonly NeededRing[]): void {
  // The store writes only lanes of the configuration. Not waited for: the rows are there, and the reconciler rings for them.
  void doorbell.ring(rings.map((one) => ({ kind: 'inbound', ...one, lane: one.lane as Lane })));
}

async function spawn({ family }: Parts, call: ToolCall, request: Parameters<SessionsPort['spawn']>[1]) {
  const { sessionKey, turnId, idempotencyKey } = call;
  const spawned = await family.spawn({ sessionKey, turnId, causeKey: `call:${idempotencyKey}` }, request);
  switch (spawned.kind) {
    case 'spawned':
      return { kind: 'ok' as const, runId: spawned.runId, sessionKey: spawned.childKey as string };
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

async function subagents({ database }: Parts, call: ToolCall, recentMinutes: number): Promise<SeenSubagent[]> {
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

async function kill({ family }: Parts, _call: ToolCall, runId: string) {
  const killed = await family.kill(runId, { reason: KILLED_BY_PARENT, isTold: true });
  if (killed === null) return refused(`there is no run ${runId}`);
  return { kind: 'ok' as const, runs: killed.kind === 'stopped' ? killed.runs : 0 };
}

async function steer({ family }: Parts, call: ToolCall, runId: string, text: string) {
  const { sessionKey, turnId, idempotencyKey } = call;
  const from = { key: sessionKey, turnId };
  const steered = await family.steer(runId, { text, from, causeKey: `call:${idempotencyKey}` });
  return steerResult(steered);
}

function steerResult(steered: SteerAnswer): Awaited<ReturnType<SessionsPort['steer']>> {
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

async function list(parts: Parts, call: ToolCall): Promise<SeenSession[]> {
  const viewer = await viewerOf(parts, call);
  return (await visibleTo(parts, viewer)).map(seen);
}

async function history(
  parts: Parts,
  call: ToolCall,
  { sessionKey, shown }: { sessionKey: string; shown: Parameters<SessionsPort['history']>[2] },
) {
  const target = await findVisible(parts, call, sessionKey);
  if (target === null) return notVisible(sessionKey);
  return { kind: 'ok' as const, items: shownHistory(await readEntries(parts.database, target.id), shown) };
}

async function send(
  parts: Parts,
  call: ToolCall,
  { to, text, wantsAnswer }: Parameters<SessionsPort['send']>[1],
): Promise<{ kind: 'ok'; sessionKey: string; messageId: string } | Refusal> {
  const viewer = await viewerOf(parts, call);
  const target = 'key' in to ? await findVisible(parts, call, to.key) : await findLabelled(parts, viewer, to);
  if (target === null) return notVisible('key' in to ? to.key : to.label);
  if (target.id === viewer.id) return refused('this is your own session');
  if (target.runId !== null) {
    return refused(`${target.key} is a working subagent: send to it with subagents(action=steer)`);
  }
  const exchange = await newExchange(parts, call, { viewer, target });
  if (exchange === null) return refused('too many nested exchanges: answer your user, or end your turn');
  const body: SessionMessage = {
    text: storableText(text),
    provenance: { kind: 'inter_session', sourceSession: viewer.key, sourceTool: 'sessions_send' },
    ...(wantsAnswer ? { exchange } : {}),
  };
  const acceptance = await parts.inbox.accept({
    messageId: newId<MessageId>(),
    sessionId: target.id,
    kind: 'message',
    body: JSON.stringify(body),
    route: exchangeRoute(exchange),
    mode: null,
    // One message for each call, however often it is run.
    platformKey: JSON.stringify(['call', call.idempotencyKey]),
    idempotency: null,
    waitingMax: parts.config.limits.waitingPerSession,
  });
  switch (acceptance.kind) {
    case 'accepted': {
      const { ringNo, lane } = acceptance;
      parts.wake.committed(target.id, 'progress');
      if (ringNo !== null) ring(parts, [{ sessionId: target.id, lane, ringNo }]);
      return { kind: 'ok', sessionKey: target.key, messageId: acceptance.message.id };
    }
    case 'duplicate':
      return { kind: 'ok', sessionKey: target.key, messageId: acceptance.id };
    case 'full':
    case 'mismatch':
      return refused(`the inbox of ${target.key} is full; try again later`);
    default:
      return acceptance satisfies never;
  }
}

/** The exchange that a call begins; null when it would be one too many inside the other. */
async function newExchange(
  { config, database }: Parts,
  call: ToolCall,
  { viewer, target }: { viewer: ListedSession; target: ListedSession },
): Promise<Exchange | null> {
  const { maxPingPongTurns } = config.session.agentToAgent;
  const answered = await readTurnOrigin(database, call.turnId);
  const outer = answered?.exchange ?? null;
  const chain = outer === null ? 0 : outer.chain + 1;
  if (chain > maxPingPongTurns) return null;
  return {
    id: newId<string>(),
    from: { id: viewer.id, key: viewer.key },
    to: { id: target.id, key: target.key },
    turn: 0,
    turnsMax: maxPingPongTurns,
    chain,
    origin: outer?.origin ?? answered?.origin ?? { route: '' },
  };
}

async function viewerOf({ database }: Parts, call: ToolCall): Promise<ListedSession> {
  const viewer = await findListed(database, call.sessionKey);
  if (viewer === null) throw new Error(`There is no session ${call.sessionKey}.`);
  return viewer;
}

/** The sessions that the caller may see, newest first. */
async function visibleTo({ config, database }: Parts, viewer: ListedSession): Promise<ListedSession[]> {
  const rules = rulesOf(config);
  const found = new Map<SessionId, ListedSession>();
  for (const session of await listTree(database, viewer.id)) found.set(session.id, session);
  if (rules.visibility === 'agent' || rules.visibility === 'all') {
    const others = await listSessionsOf(database, rules.visibility === 'agent' ? viewer.agentId : null);
    for (const session of others) found.set(session.id, session);
  }
  return [...found.values()]
    .filter((session) => maySee(viewer, session, rules))
    .toSorted((a, b) => (a.id < b.id ? 1 : -1));
}

/** The session of a key that the caller may see; null for one that it must not see, and for one that does not exist. */
async function findVisible(parts: Parts, call: ToolCall, key: string): Promise<ListedSession | null> {
  try {
    const target = await findListed(parts.database, canonicalSessionKey(key));
    if (target === null) return null;
    return maySee(await viewerOf(parts, call), target, rulesOf(parts.config)) ? target : null;
  } catch (error) {
    if (error instanceof InvalidSessionKeyError) return null;
    throw error;
  }
}

async function findLabelled(
  parts: Parts,
  viewer: ListedSession,
  { label, agentId }: { label: string; agentId?: string | undefined },
): Promise<ListedSession | null> {
  const visible = await visibleTo(parts, viewer);
  return visible.find((one) => one.label === label && (agentId === undefined || one.agentId === agentId)) ?? null;
}

function rulesOf({ tools }: Config): VisibilityRules {
  return { visibility: tools.sessions.visibility, agentToAgent: tools.agentToAgent };
}

function seen({ key, agentId, kind, label, status, contextTokens, updatedAt }: ListedSession): SeenSession {
  return { key, agentId, kind, label, status, contextTokens, updatedAt: new Date(updatedAt).toISOString() };
}

function notVisible(name: string): Refusal {
  return refused(`${JSON.stringify(name.slice(0, 220))} is not a session that you may see`);
}

function refused(text: string): Refusal {
  return { kind: 'error', text };
}
