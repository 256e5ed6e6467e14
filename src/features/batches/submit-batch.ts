// Submits a batch: reads its items one by one, stores them in groups, and starts it when all of
// them fit. On the first fault nothing more is stored, and the upload is deleted; reading continues
// for the sake of the list of faults.
import { isAgent, modelFault, priceBookOf, toolPolicyFault } from '../../config.ts';
import { inputOfItem, type AskedBatch } from './rules/batch.ts';
import { ItemChecker, type ItemFault, type PlacedItem, type ReadItem } from './rules/check-items.ts';
import { emptyEstimate, withItem, type BatchEstimate, type ItemPrompt } from './rules/estimate.ts';
import type { BatchInput, InboundMessage } from '../../core/inbound.ts';
import { priceAt } from '../../core/prices.ts';
import { agentIdOf } from '../../core/session-key.ts';
import { estimateTextTokens } from '../../core/content-size.ts';
import { patchBatch, type BatchControl, type BatchPatch } from './store/control.ts';
import { addItems, beginUpload, deleteUpload, startBatch, type NewBatch, type NewItem } from './store/upload.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { MeasurePrompt, Service } from '../../kernel/use-cases/service.ts';

// These need nothing but the database: the schedulers do the rest.
export { controlBatch, deleteBatch } from './store/control.ts';

/** Rows of one statement, and the most characters of their bodies. */
const GROUP_ITEMS = 500;
const GROUP_CHARS = 4_000_000;
const FAULTS_MAX = 100;
/** The prompts that an estimate keeps. */
const SAMPLES_MAX = 100;

/** A reader yields, for each item, the item or its fault. */
export type ReadResult = ReadItem | readonly ItemFault[];

export interface BatchSubmission {
  batch: NewBatch;
  items: AsyncIterable<ReadResult>;
  /** The fields of an OpenAI client's request. */
  asked?: AskedBatch;
  itemsMax: number;
  /** Called after the last item: the key with the hash of the bytes read, and that hash. */
  finish: () => { idempotency: KeyedRequest | null; sha256: string };
}

/**
 * `invalid`: nothing is kept; at most 100 faults. `too_many`: more items than allowed. `empty`:
 * there was none. `late`: the rounds of batches have deleted the upload before its end.
 */
export type SubmitResult =
  | { kind: 'started'; batchId: string }
  | { kind: 'invalid'; faults: ItemFault[] }
  | { kind: 'too_many' }
  | { kind: 'empty' }
  | { kind: 'late' };

/**
 * Stores and starts it. Rejects with the reader's error, and with a taken key (`isKeyTaken`); then
 * nothing is stored.
 */
export async function submitBatch(service: Service, submission: BatchSubmission): Promise<SubmitResult> {
  const { database } = service;
  const { batch } = submission;
  await beginUpload(database, batch);
  let isStarted = false;
  try {
    let group: NewItem[] = [];
    let chars = 0;
    const read = await readItems(service, submission, async (placed, content) => {
      const body = JSON.stringify(content);
      group.push({ ...placed, body });
      chars += body.length;
      if (group.length < GROUP_ITEMS && chars < GROUP_CHARS) return;
      await addItems(database, batch.id, group);
      group = [];
      chars = 0;
    });
    if (read.kind !== 'read') return read;
    await addItems(database, batch.id, group);
    const { idempotency, sha256 } = submission.finish();
    const { asked } = submission;
    isStarted = await startBatch(database, { batchId: batch.id, itemCount: read.count, sha256, idempotency, asked });
    return isStarted ? { kind: 'started', batchId: batch.id } : { kind: 'late' };
  } finally {
    if (!isStarted) await deleteUpload(database, batch.id);
  }
}

/** The estimated cost of a batch, or why it would be refused. Nothing is stored. */
export async function estimateBatch(
  service: Service,
  submission: Omit<BatchSubmission, 'finish'>,
  measurePrompt: MeasurePrompt,
): Promise<{ kind: 'estimated'; estimate: BatchEstimate } | Exclude<SubmitResult, { kind: 'started' }>> {
  const { config } = service;
  const { batch } = submission;
  const { table } = priceBookOf(config);
  const day = new Date().toISOString().slice(0, 10);
  // Without the text of the item.
  const samples = new Map<string, Omit<ItemPrompt, 'isFirst'>>();
  let estimate = emptyEstimate();
  const read = await readItems(service, submission, async ({ sessionKey, isOwnSession }, body) => {
    const input = inputOfItem({ body, isOwnSession }, { ...batch, deadlineMs: null, choice: null });
    const kind = kindOfItem(agentIdOf(sessionKey), input);
    const known = samples.get(kind);
    let sample = known;
    if (sample === undefined) {
      const measured = await measurePrompt({ sessionKey, input });
      const promptTokens = measured.promptTokens - estimateTextTokens(body.text);
      sample = { ...measured, promptTokens, price: priceAt(table, { model: measured.model, day }) };
      if (samples.size < SAMPLES_MAX) samples.set(kind, sample);
    }
    const promptTokens = sample.promptTokens + estimateTextTokens(body.text);
    estimate = withItem(estimate, { ...sample, promptTokens, isFirst: known === undefined }, batch.cache);
  });
  return read.kind === 'read' ? { kind: 'estimated', estimate } : read;
}

/**
 * Items of the same kind differ in the text of their message alone, as far as the length of the
 * prompt is concerned.
 */
function kindOfItem(agentId: string, { promptMode, model, extraSystemPrompt, options, channel }: BatchInput): string {
  return JSON.stringify([agentId, promptMode, model, extraSystemPrompt, options, channel]);
}

type Read = { kind: 'read'; count: number } | Exclude<SubmitResult, { kind: 'started' }>;

/** Reads and checks the items, and passes each to `keep` until the first fault. */
async function readItems(
  { config }: Service,
  { batch, items, itemsMax }: Pick<BatchSubmission, 'batch' | 'items' | 'itemsMax'>,
  keep: (placed: PlacedItem, body: InboundMessage) => Promise<void>,
): Promise<Read> {
  const checker = new ItemChecker({
    batchId: batch.id,
    agentId: batch.agentId,
    isAgent: (agentId) => isAgent(config, agentId),
    modelFault: (agentId, model) => modelFault(config, agentId, model),
    policyFault: (policy) => toolPolicyFault(config, policy),
  });
  const faults: ItemFault[] = [];
  let count = 0;
  for await (const result of items) {
    if (faults.length >= FAULTS_MAX) continue;
    count += 1;
    if (count > itemsMax) return { kind: 'too_many' };
    const placed = 'place' in result ? checker.place(result) : result;
    if (!('n' in placed)) faults.push(...placed);
    else if (faults.length === 0 && 'body' in result) await keep(placed, result.body);
  }
  if (faults.length > 0) return { kind: 'invalid', faults: faults.slice(0, FAULTS_MAX) };
  if (count === 0) return { kind: 'empty' };
  return { kind: 'read', count };
}

/** Changes settings of a batch. */
export async function editBatch(
  { database, publish }: Service,
  batchId: string,
  changes: BatchPatch,
): Promise<BatchControl> {
  return publish(await patchBatch(database, batchId, changes));
}
