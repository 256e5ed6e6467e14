// A batch: many conversations that are submitted as one. The states are those of docs/batches.md.
import type { InboundMessage } from '../inbound.ts';
import type { PromptMode } from '../prompt/prompt-mode.ts';
import type { ThinkingLevel } from '../prompt/thinking-directive.ts';
import type { SessionKey } from '../ids.ts';

export const BATCH_STATUSES = ['uploading', 'running', 'paused', 'cancelling', 'ended'] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

export const BATCH_OUTCOMES = ['completed', 'partly', 'failed', 'cancelled'] as const;
export type BatchOutcome = (typeof BATCH_OUTCOMES)[number];

export const PAUSE_REASONS = [
  'manual',
  'pilot_done',
  'cost_cap',
  'failure_rate',
  'provider_refused',
  'budget',
] as const;
export type PauseReason = (typeof PAUSE_REASONS)[number];

export const BATCH_VIAS = ['live', 'provider-batch', 'auto'] as const;
export type BatchVia = (typeof BATCH_VIAS)[number];

/** As the API shows them: an item that is fed is `waiting`, `running` or `parked`, according to its input and turn. */
export const ITEM_STATUSES = [
  'pending',
  'waiting',
  'running',
  'parked',
  'answered',
  'silent',
  'failed',
  'cancelled',
  'expired',
] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

/** What an item takes from its batch when it does not set it itself. */
export interface ItemDefaults {
  model?: string;
  thinking?: ThinkingLevel;
  promptMode?: PromptMode;
}

/** The body of the input that an item becomes. */
export interface BatchInput extends Omit<InboundMessage, 'deliver'> {
  promptMode?: PromptMode;
  /** Null: nowhere; the end of the batch is reported in place of its replies. */
  deliver: { url: string } | null;
  /** The batch of an item whose model is asked in batches of the provider. */
  batchId?: string;
  /** What happens to such an item near its deadline; absent: it is asked live. */
  fallback?: 'fail';
}

/**
 * The key of the session of an item that names none. The last digits of the id are random, while the first ones are the time, which batches
 * may share.
 */
export function itemSessionKey(batchId: string, agentId: string, n: number): SessionKey {
  return `${batchSessionKey(batchId, agentId)}:${n}` as SessionKey;
}

/** The key of the session by which the end of a batch is delivered. */
export function batchSessionKey(batchId: string, agentId: string): SessionKey {
  return `agent:${agentId}:batch:${batchId.slice(-12)}` as SessionKey;
}

/** What a batch says of the inputs of its items. */
interface FedBatch {
  id: string;
  via: BatchVia;
  fallback: 'live' | 'fail';
  defaults: ItemDefaults;
  deadlineMs: number | null;
  /** Null: there is no pilot, or it is over. */
  pilot: number | null;
}

/** The items of a pilot run live: their figures are there at once. */
function laneOf(body: InboundMessage, batch: FedBatch): Pick<BatchInput, 'via' | 'batchId' | 'fallback'> {
  const via = body.via ?? (batch.via === 'provider-batch' && batch.pilot === null ? 'provider-batch' : 'live');
  if (via === 'live') return {};
  return { via, batchId: batch.id, ...(batch.fallback === 'fail' ? { fallback: 'fail' } : {}) };
}

/** The body of an item's input. */
export function inputOfItem(body: InboundMessage, batch: FedBatch, isOwnSession: boolean): BatchInput {
  const { model, thinking, promptMode } = batch.defaults;
  const mode = promptMode ?? (isOwnSession ? 'minimal' : undefined);
  const expiresAt = body.expiresAt ?? batch.deadlineMs ?? undefined;
  return {
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(mode === undefined ? {} : { promptMode: mode }),
    ...body,
    ...laneOf(body, batch),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    deliver: body.deliver ?? null,
  };
}
