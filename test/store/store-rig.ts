// Builders for tests of the store: a migrated database, and the calls that bring a session to the
// state in which a test begins.
import type { EntryId, MessageId, SessionId, SystemEventId, TurnId } from '../../src/core/ids.ts';
import { canonicalSessionKey } from '../../src/core/session-key.ts';
import { newId } from '../../src/ids.ts';
import { createAccept } from '../../src/kernel/inbox/accept-messages.ts';
import type { NewInput } from '../../src/kernel/inbox/new-input.ts';
import { openDatabase } from '../../src/database/database.ts';
import type { JournalWrite, TurnEnd } from '../../src/kernel/turn/journal/journal.ts';
import { createCommitStep } from '../../src/kernel/turn/journal/commit-step.ts';
import { createFinishTurn } from '../../src/kernel/turn/journal/finish-turn.ts';
import { createParkTurn } from '../../src/kernel/turn/journal/park-turn.ts';
import { createOpenTurn } from '../../src/kernel/turn/journal/open-turn.ts';
import { createClaim, type Claim } from '../../src/kernel/sessions/claim-session.ts';
import { createRelease } from '../../src/kernel/sessions/session-locks.ts';
import { createEnsureSession } from '../../src/kernel/sessions/sessions.ts';
import { EFFECTS } from '../features.ts';
import { withTestDatabase } from '../servers/postgres.ts';

export type Claimed = Extract<Claim, { kind: 'claimed' }>;
export type StoreRig = Awaited<ReturnType<typeof createStoreRig>>;

/** The store on a database of its own; `drop` when done. */
export async function createStoreRig() {
  const server = await withTestDatabase();
  const database = openDatabase({ url: server.url, role: 'test' });
  const ensure = createEnsureSession(database);
  const accept = createAccept(database);
  const claim = createClaim(database);
  const openTurn = createOpenTurn(database);

  async function session(): Promise<SessionId> {
    const key = canonicalSessionKey(newId<string>());
    return ensure({ key, candidateId: newId<SessionId>(), agentId: 'main', kind: 'main', lane: 'main', channel: null });
  }

  /** An ordinary input. */
  function input(sessionId: SessionId, more: Partial<NewInput> = {}): NewInput {
    return {
      messageId: newId<MessageId>(),
      sessionId,
      kind: 'message' as const,
      body: '{"text":"hello"}',
      route: 'route',
      mode: null,
      platformKey: null,
      idempotency: null,
      waitingMax: 1000,
      ...more,
    };
  }

  async function claimed(sessionId: SessionId, owner = 'worker-1', leaseMs = 60_000): Promise<Claimed> {
    const result = await claim({ sessionId, owner, leaseMs, known: { version: -1, seq: 0 } });
    if (result.kind !== 'claimed') throw new Error(`The session is ${result.kind}.`);
    return result;
  }

  /** Opens a turn over all waiting inputs, and returns what its next writes need. */
  async function opened(sessionId: SessionId, owner = 'worker-1', leaseMs = 60_000) {
    const taken = await claimed(sessionId, owner, leaseMs);
    const turnId = newId<TurnId>();
    const opening = await openTurn(newTurn(taken, turnId));
    return { taken, turnId, opening, write: writeAfter(taken, turnId) };
  }

  async function rows(sql: string, values: unknown[] = []) {
    return (await database.views.query(sql, values)).rows;
  }

  return {
    url: server.url,
    config: { messages: { queue: { mode: 'collect', byChannel: {} } } },
    database,
    effects: EFFECTS,
    ensure,
    accept,
    claim,
    release: createRelease(database),
    parkTurn: createParkTurn(database),
    openTurn,
    commitStep: createCommitStep(database, new Map()),
    finishTurn: createFinishTurn(database),
    session,
    input,
    claimed,
    opened,
    rows,
    async drop() {
      await database.close();
      await server.drop();
    },
  };
}

/** A turn over all inputs that a claim returned. */
export function newTurn({ session, inputs, events }: Claimed, turnId: TurnId) {
  return {
    fence: { sessionId: session.id, epoch: session.epoch, baseSeq: session.entrySeq },
    turnId,
    kind: 'message' as const,
    lane: 'main' as const,
    worker: 'worker',
    model: 'model',
    thinking: null,
    prompt: { id: newId<EntryId>(), content: [{ type: 'text' as const, text: 'prompt' }], parts: null },
    view: {},
    sessionView: null,
    inputIds: inputs.map((one) => one.id),
    eventIds: events.map((one) => one.id as SystemEventId),
    systemSha256: 'system',
    toolsSha256: 'tools',
    snapshots: [],
    queuedAt: new Date(),
    claimedAt: new Date(),
    events: [],
  };
}

/** An empty write after the prompt of a turn. */
export function writeAfter({ session }: Claimed, turnId: TurnId): JournalWrite {
  return {
    fence: { sessionId: session.id, epoch: session.epoch, baseSeq: session.entrySeq + 1 },
    progress: {
      turnId,
      calls: 1,
      retries: 0,
      steps: 0,
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      costMicros: 0,
      unpricedCalls: 0,
      isSimulated: false,
    },
    entries: [],
    modelCalls: [],
    toolIntents: [],
    toolSettlements: [],
    events: [],
  };
}

/** An answer of one line. */
export function answer(text: string): JournalWrite['entries'][number] {
  return { id: newId<EntryId>(), kind: 'answer', role: 'assistant', content: [{ type: 'text', text }] };
}

/** A successful end with a reply. */
export function goodEnd(write: JournalWrite, more: Partial<TurnEnd> = {}): TurnEnd {
  return {
    ...write,
    entries: [answer('reply')],
    status: 'completed',
    messageStatus: 'answered',
    reply: 'reply',
    error: null,
    wasAborted: false,
    contextTokens: 0,
    deliveries: [],
    hides: null,
    gatherMsMax: 0,
    cap: 20,
    steerSeen: 0,
    deadLetter: null,
    debounceMs: 0,
    ended: { type: 'turn.ended', data: {} },
    effects: [],
    ...more,
  };
}
