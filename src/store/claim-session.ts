// Claiming: takes the lock of a session (session-locks.ts) and reads, in the same round trip, all that its turn starts from: what
// waits, the system events, the transcript that the worker does not know yet, and the open turn if an earlier worker left one.
import type { CompactionReason } from '../core/compaction/compaction-bounds.ts';
import type { Entry } from '../core/entry.ts';
import type { MessageId, SessionId, SystemEventId, TurnId } from '../core/ids.ts';
import type { SessionView, TurnView } from '../core/view.ts';
import { coalesce, type Coalesced } from './coalescer.ts';
import type { Database } from './database.ts';
import type { LaterRing } from './session-locks.ts';

export interface ClaimRequest {
  sessionId: SessionId;
  owner: string;
  leaseMs: number;
  /** The transcript that the worker remembers: entries up to `seq` of this version. Version -1: nothing. */
  known: { version: number; seq: number };
}

/** The session row as it was claimed. */
export interface ClaimedSession {
  id: SessionId;
  key: string;
  agentId: string;
  kind: string;
  lane: string;
  parentId: SessionId | null;
  /** The run that it works on as a subagent; null: none. */
  runId: string | null;
  /** How many stand above it in its family. */
  depth: number;
  label: string | null;
  channel: string | null;
  queueMode: string | null;
  model: string | null;
  thinking: string | null;
  epoch: number;
  waiting: number;
  transcriptNo: number;
  transcriptVersion: number;
  entrySeq: number;
  leafSeq: number | null;
  /** Tokens of the last request and its answer together; 0: not known, because nothing was asked or the transcript has changed. */
  contextTokens: number;
  wasAborted: boolean;
  stopReason: string | null;
  /** The session's own settings of its queue; null: the configuration's hold. */
  queueDebounceMs: number | null;
  /** The number of the last message that was meant for a running turn. */
  steerSeq: number;
  /** Messages that were dropped over the cap and that no prompt has told of. */
  overflowed: number;
  view: SessionView;
}

export interface WaitingInput {
  id: MessageId;
  seq: number;
  kind: 'message' | 'announcement' | 'cron' | 'heartbeat' | 'followup' | 'batch' | 'compaction';
  body: unknown;
  route: string;
  mode: string | null;
  /** Milliseconds since the epoch. */
  receivedAt: number;
}

/** What becomes a prompt; a compaction is asked for, and says nothing to the model. */
export type PromptedKind = Exclude<WaitingInput['kind'], 'compaction'>;

export interface WaitingEvent {
  id: SystemEventId;
  text: string;
  isTrusted: boolean;
  /** Milliseconds since the epoch. */
  createdAt: number;
}

/** A turn that an earlier worker left open, as far as its journal goes. */
export interface OpenTurn {
  id: TurnId;
  kind: string;
  attempt: number;
  deaths: number;
  model: string;
  thinking: string | null;
  promptSeq: number;
  systemSha256: string;
  toolsSha256: string;
  calls: number;
  retries: number;
  steps: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  view: TurnView;
  /** The reason of a compaction that it was in the middle of; null: none. */
  compaction: CompactionReason | null;
  /** The messages that it answers, by number. */
  inputs: WaitingInput[];
  /** The tool calls of its last step, in source order. */
  toolCalls: LedgerRow[];
}

export interface LedgerRow {
  step: number;
  ordinal: number;
  callId: string;
  status: 'intent' | 'done' | 'failed' | 'unknown' | 'skipped';
  runs: number;
  result: { content: unknown; isError: boolean } | null;
}

/**
 * `claimed`: the session is ours. `busy`: somebody holds it; whoever that is will look at the inbox when done.
 * `idle`: nothing waits. `early`: what waits is not due yet; the reconciler rings when it is.
 */
export type Claim =
  | {
      kind: 'claimed';
      session: ClaimedSession;
      inputs: WaitingInput[];
      events: WaitingEvent[];
      /** The beginnings of messages that were dropped over the cap, oldest first; bounded, so there may be fewer than were. */
      overflow: { id: MessageId; text: string }[];
      /** Entries of the active path that the worker did not know, a summary first; all of them when `isWhole`. */
      entries: Entry[];
      isWhole: boolean;
      openTurn: OpenTurn | null;
    }
  | { kind: 'busy' | 'idle' }
  /** `ring` is due in `dueInMs`; null when the reconciler rings. */
  | { kind: 'early'; ring: LaterRing | null };

/** The most waiting messages that a claim looks at; a turn takes fewer. */
const WAITING_READ_MAX = 200;

/** The most dropped messages that a prompt names, and how much of each is read. */
const OVERFLOW_READ_MAX = 50;
const OVERFLOW_CHARS_MAX = 1_300;

/** Makes the claiming function of a worker; claims that overlap share statements. */
export function createClaim(database: Database): Coalesced<ClaimRequest, Claim> {
  return coalesce({ run: (requests) => claimAll(database, requests), rowsMax: 64 });
}

const INPUT_JSON = `json_build_object('id', i.id, 'seq', i.seq, 'kind', i.kind, 'body', i.body, 'route', i.route, 'mode', i.mode,
  'receivedAt', (extract(epoch from i.received_at) * 1000)::bigint)`;

// Purpose: take the sessions that are free and have work, and read what their turns start from.
// Locking: the session rows in the order of their ids; nothing afterwards.
// A statement that had to wait for a row sees that row anew, but everything else as it was when the statement began: the last
// answer of the turn that just ended would be missing. So it compares the row's version before and after the wait, and claims
// nothing that has changed (`stale`): the next statement sees all of it. Every write that concerns a session therefore
// updates its row. What the claiming worker holds itself it may claim again: that is how it goes on after a write whose
// outcome it does not know. (It never asks for a session that it is running.)
const CLAIM_SQL = `/* claim */
with input as materialized (
  select * from unnest($1::uuid[], $2::text[], $3::int[], $4::bigint[], $5::bigint[])
    as input (session_id, owner, lease_ms, known_version, known_seq)
),
seen as materialized (
  select s.id, s.xmin as version from holdfast.sessions s where s.id = any ($1::uuid[])
),
locked as materialized (
  select s.*, s.xmin as version from holdfast.sessions s where s.id = any ($1::uuid[]) order by s.id for no key update
),
judged as materialized (
  select l.id, l.owner <> input.owner and l.turn_id is not null as has_died,
    case
      when seen.version <> l.version then 'stale'
      when l.owner <> input.owner and l.lease_expires_at > clock_timestamp() then 'busy'
      when l.waiting = 0 and l.turn_id is null then 'idle'
      when d.due_at > clock_timestamp() or gathering.until > clock_timestamp() then 'early'
      else 'claimed'
    end as verdict,
    gathering.until as gather_until
  from locked l join input on input.session_id = l.id join seen on seen.id = l.id
  left join holdfast.doorbells d on d.session_id = l.id
  cross join lateral (
    select case when d.quiet_ms is not null and l.turn_id is null
      then least(l.last_message_at + d.quiet_ms * interval '1 millisecond', d.gather_until) end as until
  ) as gathering
),
deferred as (
  update holdfast.doorbells d set due_at = judged.gather_until, rings = d.rings + 1, rung_at = clock_timestamp()
  from judged where d.session_id = judged.id and judged.verdict = 'early' and judged.gather_until > d.due_at
  returning d.session_id, d.lane, d.rings, extract(epoch from d.due_at - clock_timestamp()) * 1000 as due_in_ms
),
claimed as (
  update holdfast.sessions s
  set epoch = s.epoch + 1, owner = input.owner,
    lease_expires_at = clock_timestamp() + input.lease_ms * interval '1 millisecond'
  from judged join input on input.session_id = judged.id
  where s.id = judged.id and judged.verdict = 'claimed'
  returning s.*, input.known_version, input.known_seq, judged.has_died
),
resumed as (
  update holdfast.turns t
  set attempt = t.attempt + 1, deaths = t.deaths + case when c.has_died is true then 1 else 0 end, epoch = c.epoch,
    worker = c.owner, status = 'resuming', claimed_at = clock_timestamp()
  from claimed c where t.id = c.turn_id
  returning t.*
)
select input.session_id, judged.verdict, c.key, c.agent_id, c.kind, c.lane, c.parent_id, c.run_id, cardinality(c.ancestors) as depth, c.label, c.channel, c.queue_mode, c.model,
  c.thinking, c.epoch, c.waiting, c.transcript_no, c.transcript_version, c.entry_seq, c.leaf_seq, c.context_tokens, c.was_aborted, c.stop_reason, c.view,
  c.queue_debounce_ms, c.steer_seq, c.overflowed, deferred.lane as ring_lane, deferred.rings, deferred.due_in_ms,
  case when c.overflowed > 0 then (
    select json_agg(json_build_object('id', o.id, 'text', left(o.body ->> 'text', ${OVERFLOW_CHARS_MAX})) order by o.seq) from (
      select * from holdfast.inbox i where i.session_id = c.id and i.status = 'dropped' and i.is_summarized and i.turn_id is null
      order by i.seq limit ${OVERFLOW_READ_MAX}
    ) as o
  ) end as overflow,
  (c.known_version <> c.transcript_version) as is_whole,
  case when c.waiting > 0 then (
    select json_agg(${INPUT_JSON} order by i.seq) from (
      select * from holdfast.inbox i where i.session_id = c.id and i.status = 'waiting' order by i.seq limit ${WAITING_READ_MAX}
    ) as i
  ) end as inputs,
  (select json_agg(json_build_object('id', e.id, 'text', e.text, 'isTrusted', e.is_trusted,
      'createdAt', (extract(epoch from e.created_at) * 1000)::bigint) order by e.id)
    from holdfast.system_events e where e.session_id = c.id and e.state = 'queued') as events,
  (select json_agg(json_build_object('id', e.id, 'seq', e.seq, 'parentSeq', e.parent_seq, 'kind', e.kind, 'role', e.role,
      'turnId', e.turn_id, 'content', e.content, 'provenance', e.provenance) order by e.kind <> 'summary', e.seq)
    from holdfast.entries e
    where e.session_id = c.id and e.state = 'active' and e.transcript_no = c.transcript_no
      and e.seq > case when c.known_version = c.transcript_version then c.known_seq else 0 end) as entries,
  case when t.id is not null then json_build_object('id', t.id, 'kind', t.kind, 'attempt', t.attempt, 'deaths', t.deaths,
    'model', t.model, 'thinking', t.thinking, 'promptSeq', t.prompt_seq, 'systemSha256', t.system_sha256,
    'toolsSha256', t.tools_sha256, 'calls', t.calls, 'retries', t.retries, 'steps', t.steps,
    'inputTokens', t.input_tokens, 'outputTokens', t.output_tokens, 'cacheReadTokens', t.cache_read_tokens,
    'cacheWriteTokens', t.cache_write_tokens, 'view', t.view,
    'compaction', (select c.reason from holdfast.compactions c where c.turn_id = t.id and c.status = 'running' limit 1),
    'inputs', (select json_agg(${INPUT_JSON} order by i.seq) from holdfast.inbox i where i.turn_id = t.id and i.status <> 'dropped'),
    'toolCalls', (select json_agg(json_build_object('step', tc.step, 'ordinal', tc.ordinal, 'callId', tc.call_id,
        'status', tc.status, 'runs', tc.runs, 'result', tc.result) order by tc.ordinal)
      from holdfast.tool_calls tc where tc.turn_id = t.id and tc.step = t.steps)) end as open_turn
from input
left join judged on judged.id = input.session_id
left join claimed c on c.id = input.session_id
left join deferred on deferred.session_id = input.session_id
left join resumed t on t.session_id = input.session_id`;

/** How often a claim that found its session changed looks again; then it reports the session as busy, and a ring follows. */
const STALE_LOOKS_MAX = 10;

async function claimAll(database: Database, requests: ClaimRequest[]): Promise<Claim[]> {
  const claims = new Map<SessionId, Claim>();
  let open = new Map(requests.map((request) => [request.sessionId, request]));
  for (let look = 1; look <= STALE_LOOKS_MAX && open.size > 0; look += 1) {
    const rows = await claimOnce(database, [...open.values()]);
    for (const row of rows) if (row.verdict !== 'stale') claims.set(row.session_id, claimOf(row));
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
  const result = await database.hot.query({
    name: 'claim',
    text: CLAIM_SQL,
    values: [
      requests.map((request) => request.sessionId),
      requests.map((request) => request.owner),
      requests.map((request) => request.leaseMs),
      requests.map((request) => request.known.version),
      requests.map((request) => request.known.seq),
    ],
  });
  return result.rows;
}

function laterRingOf(row: ClaimRow): LaterRing | null {
  const { session_id: sessionId, ring_lane: lane, rings, due_in_ms: dueInMs } = row;
  return lane === null ? null : { sessionId, lane, ringNo: Number(rings), dueInMs: Math.ceil(Number(dueInMs)) };
}

function claimOf(row: ClaimRow): Claim {
  if (row.verdict === null || row.verdict === 'stale') return { kind: 'idle' };
  if (row.verdict === 'early') return { kind: 'early', ring: laterRingOf(row) };
  if (row.verdict !== 'claimed') return { kind: row.verdict };
  return {
    kind: 'claimed',
    session: {
      id: row.session_id,
      key: row.key,
      agentId: row.agent_id,
      kind: row.kind,
      lane: row.lane,
      parentId: row.parent_id,
      runId: row.run_id,
      depth: row.depth,
      label: row.label,
      channel: row.channel,
      queueMode: row.queue_mode,
      model: row.model,
      thinking: row.thinking,
      epoch: Number(row.epoch),
      waiting: row.waiting,
      transcriptNo: row.transcript_no,
      transcriptVersion: Number(row.transcript_version),
      entrySeq: Number(row.entry_seq),
      leafSeq: row.leaf_seq === null ? null : Number(row.leaf_seq),
      contextTokens: Number(row.context_tokens),
      wasAborted: row.was_aborted,
      stopReason: row.stop_reason,
      queueDebounceMs: row.queue_debounce_ms,
      steerSeq: Number(row.steer_seq),
      overflowed: row.overflowed,
      view: row.view,
    },
    inputs: row.inputs ?? [],
    overflow: row.overflow ?? [],
    events: row.events ?? [],
    entries: row.entries ?? [],
    isWhole: row.is_whole,
    openTurn:
      row.open_turn === null
        ? null
        : { ...row.open_turn, inputs: row.open_turn.inputs ?? [], toolCalls: row.open_turn.toolCalls ?? [] },
  };
}

interface ClaimRow {
  session_id: SessionId;
  verdict: Claim['kind'] | 'stale' | null;
  key: string;
  agent_id: string;
  kind: string;
  lane: string;
  parent_id: SessionId | null;
  run_id: string | null;
  depth: number;
  label: string | null;
  channel: string | null;
  queue_mode: string | null;
  model: string | null;
  thinking: string | null;
  epoch: string;
  waiting: number;
  transcript_no: number;
  transcript_version: string;
  entry_seq: string;
  leaf_seq: string | null;
  context_tokens: string;
  was_aborted: boolean;
  stop_reason: string | null;
  queue_debounce_ms: number | null;
  steer_seq: string;
  overflowed: number;
  ring_lane: string | null;
  rings: string | null;
  due_in_ms: number | null;
  overflow: { id: MessageId; text: string }[] | null;
  view: SessionView;
  is_whole: boolean;
  inputs: WaitingInput[] | null;
  events: WaitingEvent[] | null;
  entries: Entry[] | null;
  open_turn:
    | (Omit<OpenTurn, 'inputs' | 'toolCalls'> & { inputs: WaitingInput[] | null; toolCalls: LedgerRow[] | null })
    | null;
}
