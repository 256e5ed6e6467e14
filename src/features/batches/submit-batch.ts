// Submits a batch: reads its items one by one, stores them in groups, and starts it when all of
// them fit. On the first fault nothing more is stored, and the upload is deleted; reading continues
// for the sake of the list of faults.
import { priceBookOf } from '../../config.ts';
import { inputOfItem, type AskedBatch, type ItemFault, type LineFormat } from './rules/batch.ts';
import { emptyEstimate, withItem, type BatchEstimate, type ItemPrompt } from './rules/estimate.ts';
import { priceAt } from '../../core/prices.ts';
import { agentIdOf } from '../../core/session-key.ts';
import { estimateTextTokens } from '../../core/content-size.ts';
import { readItems, type RawItem, type ReadItem } from './read-items.ts';
import { addItems, beginUpload, deleteUpload, startBatch, type NewBatch, type NewItem } from './store/upload.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { MeasurePrompt, Service } from '../../kernel/use-cases/service.ts';

// These need nothing but the database: the schedulers do the rest.
export { controlBatch, deleteBatch, patchBatch } from './store/control.ts';

/** Rows of one statement, and the most characters of their bodies. */
const GROUP_ITEMS = 500;
const GROUP_CHARS = 4_000_000;
const FAULTS_MAX = 100;
/** The prompts that an estimate keeps. */
const SAMPLES_MAX = 100;

export interface BatchSubmission {
  batch: NewBatch;
  items: AsyncIterable<RawItem>;
  /** Lines of another format are refused; absent: each may have any. */
  format?: LineFormat | undefined;
  /** The fields of an OpenAI client's request. */
  asked?: AskedBatch;
  /** Called after the last item: the key, which may be bound to what was read. */
  key: () => KeyedRequest | null;
}

/**
 * Why nothing is kept. `invalid`: at most 100 faults. `too_many`: more items than allowed. `empty`:
 * there was none. `late`: the rounds of batches have deleted the upload before its end.
 */
export type RefusedBatch = { kind: 'invalid'; faults: ItemFault[] } | { kind: 'too_many' | 'empty' | 'late' };

/**
 * Stores and starts it. Rejects with the reader's error, and with a taken key (`isKeyTaken`); then
 * nothing is stored.
 */
export async function submitBatch(
  service: Service,
  submission: BatchSubmission,
): Promise<{ kind: 'started'; batchId: string } | RefusedBatch> {
  const { database } = service;
  const { batch, asked } = submission;
  await beginUpload(database, batch);
  let isStarted = false;
  try {
    let group: NewItem[] = [];
    let chars = 0;
    const read = await forEachItem(service, submission, async ({ body: content, ...placed }) => {
      const body = JSON.stringify(service.isConfined ? { ...content, isConfined: true } : content);
      group.push({ ...placed, body });
      chars += body.length;
      if (group.length < GROUP_ITEMS && chars < GROUP_CHARS) return;
      await addItems(database, batch.id, group);
      group = [];
      chars = 0;
    });
    if (read.kind !== 'read') return read;
    await addItems(database, batch.id, group);
    const idempotency = submission.key();
    isStarted = await startBatch(database, { batchId: batch.id, itemCount: read.count, idempotency, asked });
    return isStarted ? { kind: 'started', batchId: batch.id } : { kind: 'late' };
  } finally {
    if (!isStarted) await deleteUpload(database, batch.id);
  }
}

/** The estimated cost of a batch, or why it would be refused. Nothing is stored. */
export async function estimateBatch(
  service: Service,
  submission: Omit<BatchSubmission, 'key'>,
  measurePrompt: MeasurePrompt,
): Promise<{ kind: 'estimated'; estimate: BatchEstimate } | RefusedBatch> {
  const { batch } = submission;
  const { table } = priceBookOf(service.config);
  const day = new Date().toISOString().slice(0, 10);
  // Without the text of the item.
  const samples = new Map<string, Omit<ItemPrompt, 'isFirst'>>();
  let estimate = emptyEstimate();
  const read = await forEachItem(service, submission, async ({ sessionKey, isOwnSession, body }) => {
    const input = inputOfItem({ body, isOwnSession }, { ...batch, deadlineMs: null, choice: null });
    const { promptMode, model, extraSystemPrompt, options, channel } = input;
    // Items of the same kind differ in the text of their message alone, as far as the length of the
    // prompt is concerned.
    const kind = JSON.stringify([agentIdOf(sessionKey), promptMode, model, extraSystemPrompt, options, channel]);
    const textTokens = estimateTextTokens(body.text);
    const known = samples.get(kind);
    let sample = known;
    if (sample === undefined) {
      const measured = await measurePrompt({ sessionKey, input });
      const promptTokens = measured.promptTokens - textTokens;
      sample = { ...measured, promptTokens, price: priceAt(table, { model: measured.model, day }) };
      if (samples.size < SAMPLES_MAX) samples.set(kind, sample);
    }
    const promptTokens = sample.promptTokens + textTokens;
    estimate = withItem(estimate, { ...sample, promptTokens, isFirst: known === undefined }, batch.cache);
  });
  return read.kind === 'read' ? { kind: 'estimated', estimate } : read;
}

/**
 * Reads and checks the items, and passes each to `keep` until the first fault. Rejects with the
 * `Problem` of an item that is outside of the caller's scope.
 */
async function forEachItem(
  { config, views }: Service,
  { items, ...rules }: Pick<BatchSubmission, 'batch' | 'items' | 'format'>,
  keep: (item: ReadItem) => Promise<void>,
): Promise<{ kind: 'read'; count: number } | RefusedBatch> {
  const faults: ItemFault[] = [];
  let count = 0;
  for await (const read of readItems(items, { config, views, ...rules })) {
    if (faults.length >= FAULTS_MAX) continue;
    count += 1;
    if (count > config.limits.batchItems) return { kind: 'too_many' };
    if (!('n' in read)) faults.push(...read);
    else if (faults.length === 0) await keep(read);
  }
  if (faults.length > 0) return { kind: 'invalid', faults: faults.slice(0, FAULTS_MAX) };
  return count === 0 ? { kind: 'empty' } : { kind: 'read', count };
}
