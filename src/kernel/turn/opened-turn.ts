// A turn that is open: the facts that do not change while it runs, and the journal with its position. Every field is readonly;
// a test holds that (test/architecture.test.ts).
import { optionsOfInputs } from '../../core/input-options.ts';
import type { TurnKind } from '../../core/statuses.ts';
import type { AgentSettings, Lane } from '../../config.ts';
import type { TurnId } from '../../core/ids.ts';
import type { ClaimedSession } from '../sessions/claimed-session.ts';
import type { LedgerRow, WaitingInput } from '../sessions/claim-session.ts';
import type { Toolset } from '../../tools/toolset.ts';
import type { Tracing, TurnRef } from '../../tracing.ts';
import type { HeldSession } from './held-session.ts';
import type { Transcript } from './transcript-cache.ts';
import type { TurnFailed } from './turn-stop.ts';
import type { MeteredTurn } from './turn-meter.ts';
import type { TurnJournal } from './turn-journal.ts';

export interface OpenedTurn {
  readonly id: TurnId;
  /** As the API shows it; a `compaction` asks the model nothing but a summary. */
  readonly kind: TurnKind;
  readonly session: ClaimedSession;
  readonly agent: AgentSettings;
  readonly held: HeldSession;
  /** The models that it may ask as `provider/model`, the one that it was opened with first. */
  readonly chain: readonly string[];
  readonly toolset: Toolset;
  /** How much its model thinks. */
  readonly thinking: string;
  /** The active path up to the last committed entry. */
  readonly transcript: Transcript;
  /** Set when the turn cannot be run at all: it ends with this. */
  readonly failure: TurnFailed | null;
  /** The rows of the last step's calls in the ledger; empty unless an earlier worker left them. */
  readonly ledger: readonly LedgerRow[];
  readonly journal: TurnJournal;
}

/** The lane whose place in a rate limit its calls take: items of a batch are calls of the lane `batch` in every session. */
export function laneOf({ kind, session }: Pick<MeteredTurn, 'kind' | 'session'>): Lane {
  return kind === 'batch' ? 'batch' : session.lane;
}

/** The facts from which the trace of a turn is made. */
export function originOfTurn({ id, journal }: OpenedTurn): TurnRef {
  return { id, inputs: journal.at.inputs };
}

/** How log lines name a turn: with its trace and its tags, when it has some. */
export function pickLogIds(context: { tracing: Tracing | null }, turn: OpenedTurn) {
  return logIdsOfOrigin(context, { id: turn.id, inputs: turn.journal.at.inputs }, turn.session.key);
}

/** The same of a turn that is not open yet. */
export function logIdsOfOrigin(
  { tracing }: { tracing: Tracing | null },
  origin: { id: TurnId; inputs: readonly WaitingInput[] },
  sessionKey: string,
) {
  const { tags } = optionsOfInputs(origin.inputs);
  const ids = { turnId: origin.id, ...tracing?.idsOf(origin), sessionKey };
  return tags === undefined ? ids : { ...ids, tags };
}
