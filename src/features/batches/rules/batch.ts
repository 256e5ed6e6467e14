// A batch: many conversations that are submitted as one. The states are those of docs/batches.md.
import { parseKeyName } from '../../../core/key-role.ts';
import type { CacheSetting } from '../../../core/cache-markers.ts';
import type { Way, BatchInput, InboundMessage, MessageVia } from '../../../core/inbound.ts';
import type { Choice } from './choose-way.ts';
import { joinOptions, readOptions, withOptions, type InputOptions } from '../../../core/input-options.ts';
import type { PromptMode } from '../../../prompt/system-input.ts';
import type { ThinkingLevel } from '../../../core/models.ts';
import type { SessionKey } from '../../../core/ids.ts';

export const BATCH_STATUSES = ['uploading', 'running', 'paused', 'cancelling', 'ended'] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/**
 * How long an upload may take; after that it counts as left behind by a crash, and the rounds of
 * batches delete it.
 */
export const UPLOAD_HOURS = 1;

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

export const LINE_FORMATS = ['holdfast', 'anthropic', 'openai'] as const;
export type LineFormat = (typeof LINE_FORMATS)[number];

/** The way of a round of calls. */
export const HOP_VIAS = ['live', 'provider-batch'] as const satisfies Way[];

/**
 * As the API shows them: an item that is fed is `waiting`, `running` or `parked`, according to its
 * input and turn.
 */
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

/** The values that an item takes from its batch when it does not set them itself. */
export interface ItemDefaults {
  model?: string;
  thinking?: ThinkingLevel;
  promptMode?: PromptMode;
  /** An item adds its own to these. */
  options?: InputOptions;
}

/** The key of the session of an item that names none. */
export function itemSessionKey(batchId: string, agentId: string, n: number): SessionKey {
  return `${batchSessionKey(batchId, agentId)}:${n}` as SessionKey;
}

/** The key of the session by which the end of a batch is delivered. */
export function batchSessionKey(batchId: string, agentId: string): SessionKey {
  return `agent:${agentId}:batch:${batchId}` as SessionKey;
}

/** The settings of a batch for the inputs of its items. */
export interface FedBatch {
  id: string;
  via: MessageVia;
  fallback: 'live' | 'fail';
  cache: CacheSetting;
  defaults: ItemDefaults;
  deadlineMs: number | null;
  /** The caller that submitted it. */
  createdBy: string;
  /** Null: there is no pilot, or it is over. */
  pilot: number | null;
  /** The way of `auto`; null: it is not chosen, and the first items go through the provider. */
  choice: Choice | null;
}

const PROBE_REASON = 'One of the first items: they show whether a batch is cheaper.';

/** The items of a pilot run live, so their figures are available immediately. */
function viaOfItem(batch: FedBatch): Pick<BatchInput, 'via' | 'fallback' | 'cache' | 'viaReason'> {
  if (batch.via === 'live' || batch.pilot !== null) return {};
  const choice = batch.via === 'auto' ? (batch.choice ?? { via: 'provider-batch', reason: PROBE_REASON }) : null;
  const viaReason = choice === null ? {} : { viaReason: choice.reason };
  if (choice?.via === 'live') return viaReason;
  const cache = choice?.cache ?? batch.cache;
  return {
    via: 'provider-batch',
    ...(batch.fallback === 'fail' ? { fallback: 'fail' } : {}),
    ...(cache === 'auto' ? {} : { cache }),
    ...viaReason,
  };
}

/** The body of an item's input. */
export function inputOfItem(
  { body, isOwnSession }: { body: InboundMessage; isOwnSession: boolean },
  batch: FedBatch,
): BatchInput {
  const { model, thinking, promptMode } = batch.defaults;
  const mode = promptMode ?? (isOwnSession ? 'minimal' : undefined);
  const sentBy = parseKeyName(batch.createdBy);
  const expiresAt = body.expiresAt ?? batch.deadlineMs ?? undefined;
  return {
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(mode === undefined ? {} : { promptMode: mode }),
    ...body,
    ...withOptions(joinOptions(batch.defaults.options ?? {}, readOptions(body))),
    batchId: batch.id,
    ...(sentBy === null ? {} : { sentBy }),
    ...viaOfItem(batch),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    deliver: body.deliver ?? null,
  };
}

/** What is wrong with an item, and where. */
export interface ItemFault {
  path: string;
  message: string;
  /** The fault is an agent that does not exist. */
  isUnknownAgent?: true;
}

/** A client's request for a batch. */
export interface AskedBatch {
  inputFileId: string;
  endpoint: string;
  completionWindow: string;
  metadata: Record<string, string> | null;
}

/**
 * Why an item of a batch waits that is not in flight, by the code of its reason
 * (src/kernel/rules/why.ts has all others but that of budgets).
 */
export const ITEM_WAITS = {
  batch_paused: 'The batch is paused.',
  batch_window: 'The first items show which way is cheaper; the others wait for them, at most an hour.',
  session_busy: 'An earlier item of the same session has not ended.',
  lane_full: 'As many items of the batch are in flight as its concurrency and the lane allow.',
} as const;
