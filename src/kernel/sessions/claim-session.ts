// Claiming: takes the lock of a session (session-locks.ts) and reads, in the same round trip, all
// that its turn starts from: what waits, the system events, the transcript that the worker does not
// know yet, and the open turn if an earlier worker left one.
import type { HoldCode, TurnKind } from '../../core/statuses.ts';
import type { CostTotal } from '../../core/prices.ts';
import type { AfterCommit, Ring } from '../queue/after-commit.ts';
import type { CompactionReason } from '../../compaction/plan-compaction.ts';
import type { Entry } from '../../core/entry.ts';
import type { Lane, QueueMode, ThinkingLevel } from '../../config.ts';
import type { MessageId, SessionId, SystemEventId, TurnId } from '../../core/ids.ts';
import type { TurnRequestSettings } from '../../core/view.ts';
import { CLAIM } from './claim-statement.ts';
import { shareStatement, type RowSubmitter } from '../../database/statement.ts';
import type { ClaimedSession } from './claimed-session.ts';
import type { Database } from '../../database/database.ts';
import type { ModelBlock } from '../queue/model-blocks.ts';
import { buildRings } from '../queue/rings.ts';

export interface ClaimRequest {
  sessionId: SessionId;
  owner: string;
  leaseMs: number;
  /**
   * The transcript that the worker remembers: entries up to `seq` of this version. Version -1:
   * nothing.
   */
  known: { version: number; seq: number };
}

export interface WaitingInput {
  id: MessageId;
  seq: number;
  kind: 'message' | 'announcement' | 'cron' | 'heartbeat' | 'followup' | 'batch' | 'compaction';
  body: unknown;
  route: string;
  mode: QueueMode | null;
  /** Null: its trace begins with it. */
  traceparent: string | null;
  /** Milliseconds since the epoch. */
  receivedAt: number;
}

/** The kinds that become a prompt; a compaction has none. */
export type PromptedKind = Exclude<WaitingInput['kind'], 'compaction'>;

export interface WaitingEvent {
  id: SystemEventId;
  text: string;
  isTrusted: boolean;
  /** Milliseconds since the epoch. */
  createdAt: number;
}

/** A turn that an earlier worker left open, as far as its journal goes. */
export interface OpenTurn extends CostTotal {
  id: TurnId;
  kind: TurnKind;
  attempt: number;
  deaths: number;
  model: string;
  thinking: ThinkingLevel | null;
  promptSeq: number;
  systemSha256: string;
  toolsSha256: string;
  calls: number;
  /**
   * Calls that were charged after the last one that was not broken off by a worker: each may have
   * been made, and paid for.
   */
  lostCalls: number;
  retries: number;
  steps: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  view: TurnRequestSettings;
  /** The model that its last call has stepped down to, as `provider/model`, and why; null: none. */
  fallback: { model: string; reason: string | null } | null;
  /** Null: it was not parked since the model answered last. */
  park: EarlierPark | null;
  /**
   * Its last model call when that goes through a batch of the provider and has not been used yet;
   * null: it does not.
   */
  hop: OpenHop | null;
  /** The reason of a compaction that it was in the middle of; null: none. */
  compaction: CompactionReason | null;
  /** The messages that it answers, by number. */
  inputs: WaitingInput[];
  /** The tool calls of its last step, in source order. */
  toolCalls: LedgerRow[];
}

/** What an open turn was parked for last; it stays until the model answers. */
export interface EarlierPark {
  code: string;
  text: string;
  /** How often it was parked for this. */
  parks: number;
  /** Since it was parked for this the first time, in milliseconds. */
  waitedMs: number;
}

/** A model call that goes through a batch of the provider. */
export interface OpenHop {
  callNo: number;
  status: 'queued' | 'assigned' | 'answered' | 'errored' | 'expired' | 'canceled' | 'live';
  /** The provider's message; null unless it is answered. */
  result: unknown;
  /** What the provider says of it; null unless it has failed. */
  error: { type?: string; message?: string } | null;
  /** How its prompt is kept in the provider's cache; null: for five minutes. */
  cache: '1h' | 'off' | null;
  /** The hash of the call's body. */
  sha256: string;
  /** Milliseconds since the epoch. */
  queuedAt: number;
}

export interface LedgerRow {
  step: number;
  ordinal: number;
  callId: string;
  status: 'intent' | 'done' | 'failed' | 'unknown' | 'skipped';
  runs: number;
  result: { content: unknown; isError: boolean } | null;
  /** Why it waits for something outside, or has waited; null: it runs at once. */
  heldFor: HoldCode | null;
  /** How much longer it may wait, in milliseconds; null: it does not. */
  heldLeftMs: number | null;
}

export interface SessionClaim {
  kind: 'claimed';
  session: ClaimedSession;
  inputs: WaitingInput[];
  events: WaitingEvent[];
  /**
   * The beginnings of messages that were dropped over the cap, oldest first; bounded, so there may
   * be fewer than were.
   */
  overflow: { id: MessageId; text: string }[];
  /**
   * Entries of the active path that the worker did not know, a summary first; all of them when
   * `isWhole`.
   */
  entries: Entry[];
  isWhole: boolean;
  openTurn: OpenTurn | null;
  /** The models that are not to be called now. */
  blocks: ModelBlock[];
}

/**
 * `claimed`: this worker holds the lock. `busy`: another worker holds it and reads the inbox when
 * its turn ends. `idle`: nothing waits, or a person has paused it. `early`: what waits is not due
 * yet; it is rung for when it is.
 */
export type Claim = SessionClaim | { kind: 'busy' | 'idle' } | { kind: 'early'; after: AfterCommit };

/** Makes the claiming function of a worker; claims that overlap share statements. */
export function createClaim(database: Database): RowSubmitter<ClaimRequest, Claim> {
  return shareStatement('claim', (requests) => claimAll(database, requests));
}

/**
 * How often a claim is tried again because its session has changed; then it reports the session as
 * busy, and a ring follows.
 */
const STALE_ATTEMPTS_MAX = 10;

async function claimAll(database: Database, requests: ClaimRequest[]): Promise<Claim[]> {
  const claims = new Map<SessionId, Claim>();
  let open = new Map(requests.map((request) => [request.sessionId, request]));
  for (let attempt = 1; attempt <= STALE_ATTEMPTS_MAX && open.size > 0; attempt += 1) {
    const rows = await claimOnce(database, [...open.values()]);
    for (const row of rows) if (row.verdict !== 'stale') claims.set(row.session_id, toClaim(row, row.verdict));
    open = new Map([...open].filter(([sessionId]) => !claims.has(sessionId)));
  }
  const given = new Set<SessionId>();
  return requests.map((request) => {
    // Two jobs of one session in one statement: the first has it, to the second it is busy.
    const isFirst = !given.has(request.sessionId);
    given.add(request.sessionId);
    return (isFirst ? claims.get(request.sessionId) : undefined) ?? { kind: 'busy' };
  });
}

async function claimOnce(database: Database, requests: ClaimRequest[]): Promise<ClaimRow[]> {
  const result = await database.hot.query(
    CLAIM.prepared([
      requests.map((request) => request.sessionId),
      requests.map((request) => request.owner),
      requests.map((request) => request.leaseMs),
      requests.map((request) => request.known.version),
      requests.map((request) => request.known.seq),
    ]),
  );
  return result.rows;
}

/** The ring that is due when what waits is; none when the reconciler rings. */
function listLaterRings({ session_id: sessionId, ring_lane: lane, rings, due_in_ms: dueInMs }: ClaimRow): Ring[] {
  return buildRings('followup', sessionId, { lane, rings }).map((ring) => ({
    ...ring,
    dueInMs: Math.ceil(Number(dueInMs)),
  }));
}

function toClaim(row: ClaimRow, verdict: Claim['kind'] | 'paused' | null): Claim {
  if (row.session === null)
    return verdict === 'early'
      ? { kind: 'early', after: { changed: [], rings: listLaterRings(row) } }
      : { kind: verdict === 'busy' ? 'busy' : 'idle' };
  return {
    kind: 'claimed',
    session: row.session,
    inputs: row.inputs ?? [],
    overflow: row.overflow ?? [],
    events: row.events ?? [],
    entries: row.entries ?? [],
    isWhole: row.is_whole,
    blocks: row.blocks ?? [],
    openTurn:
      row.open_turn === null
        ? null
        : { ...row.open_turn, inputs: row.open_turn.inputs ?? [], toolCalls: row.open_turn.toolCalls ?? [] },
  };
}

interface ClaimRow {
  session_id: SessionId;
  verdict: Claim['kind'] | 'stale' | 'paused' | null;
  /** Null unless the verdict is `claimed`. */
  session: ClaimedSession | null;
  ring_lane: Lane | null;
  rings: string | null;
  due_in_ms: number | null;
  overflow: { id: MessageId; text: string }[] | null;
  is_whole: boolean;
  inputs: WaitingInput[] | null;
  events: WaitingEvent[] | null;
  entries: Entry[] | null;
  blocks: ModelBlock[] | null;
  open_turn:
    | (Omit<OpenTurn, 'inputs' | 'toolCalls'> & { inputs: WaitingInput[] | null; toolCalls: LedgerRow[] | null })
    | null;
}
