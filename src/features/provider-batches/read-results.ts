// Reads the results of a batch that has ended, line by line, and stores them in groups. A reading
// that breaks off begins again: what is stored already is a no-op.
import { answerCosts, readResultLine, tokensOfUsage, type RequestResult } from './rules/request-end.ts';
import { readSentRequests, storeResults, type NewResult, type SentRequest } from './store/store-results.ts';
import { endReading, notePoll, noteUnknown, returnRequests, type ProviderSubmission } from './store/submissions.ts';
import type { LaneParts } from './lane-parts.ts';

/** Lines of one statement. */
const LINES_MAX = 32;

/** After this many complete readings, a request without a line goes into another submission. */
const READINGS_MAX = 2;

/** Reads and stores all results. Rejects when they break off. */
export async function readResults(parts: LaneParts, submission: ProviderSubmission): Promise<void> {
  const { database, owner, port, logger, config } = parts;
  const { id, providerId } = submission;
  if (providerId === null) return;
  const lines = await port.read(providerId);
  if (lines === null) {
    const about = { submission: id, providerId };
    logger.warn(about, 'Results no longer exist at the provider; the requests are queued again');
    const message = 'The results no longer existed when they were read.';
    await returnRequests(database, { id, owner }, { status: 'read', message });
    return;
  }
  const reading = new Reading(parts, submission, await readSentRequests(database, id));
  for await (const line of lines) {
    if ((await reading.take(line)) === 'not-ours') return await disown(parts, submission);
  }
  await reading.flush();
  const waste = reading.waste();
  const missing = await endReading(database, { id, owner }, { ...waste, againInMs: config.batches.pollMs.min });
  // A reading that is repeated finds all of it again.
  if (missing.length === 0) parts.metrics?.wasted(waste.wastedMicros ?? 0);
  if (missing.length > 0 && submission.incompleteReads + 1 >= READINGS_MAX) await reading.giveBack(missing);
}

/** The batch was adopted and is of another program. */
async function disown(
  { database, owner, logger, config }: LaneParts,
  { id, providerId }: ProviderSubmission,
): Promise<void> {
  logger.warn(
    { submission: id, providerId },
    'Adopted batch belongs to another program; the list of batches is searched again',
  );
  const message = 'The adopted batch belongs to another program.';
  if (!(await noteUnknown(database, { id, owner, message })))
    await notePoll(database, { id, owner }, { dueInMs: config.batches.pollMs.min });
}

class Reading {
  readonly #parts: LaneParts;
  readonly #submission: ProviderSubmission;
  readonly #sent: ReadonlyMap<number, SentRequest>;
  readonly #day = new Date().toISOString().slice(0, 10);
  #isProved: boolean;
  #group: NewResult[] = [];
  /** All answers, and the numbers of the requests that have a result of this submission. */
  readonly #answers = new Map<number, NonNullable<RequestResult['result']>>();
  readonly #used: Set<number>;

  constructor(parts: LaneParts, submission: ProviderSubmission, sent: ReadonlyMap<number, SentRequest>) {
    this.#parts = parts;
    this.#submission = submission;
    this.#sent = sent;
    this.#isProved = submission.isProved;
    this.#used = new Set([...sent].filter(([, { isWaiting }]) => !isWaiting).map(([requestNo]) => requestNo));
  }

  async take(text: string): Promise<'taken' | 'not-ours'> {
    const { id, providerId } = this.#submission;
    const { logger } = this.#parts;
    const line = readResultLine(id, text);
    if (line.kind === 'foreign') {
      if (!this.#isProved) return 'not-ours';
      logger.warn({ submission: id }, 'Result of an unknown request is ignored');
    }
    if (line.kind !== 'result') return 'taken';
    if (!this.#isProved) {
      this.#isProved = true;
      logger.info({ submission: id, providerId }, 'Adopted batch was confirmed to be the submission');
    }
    const { kind: _result, ...result } = line;
    if (result.result !== null) this.#answers.set(result.requestNo, result.result);
    this.#group.push({ ...result, ...this.#toFigures(result) });
    if (this.#group.length >= LINES_MAX) await this.flush();
    return 'taken';
  }

  async flush(): Promise<void> {
    const results = this.#group;
    this.#group = [];
    if (results.length > 0) await this.#store(results);
  }

  /** Queues requests again that have no line. */
  async giveBack(numbers: readonly number[]): Promise<void> {
    const { database, logger, owner } = this.#parts;
    const { id } = this.#submission;
    logger.warn({ submission: id, requests: numbers.length }, 'Requests without a result are queued again');
    await this.#store(numbers.map((requestNo) => ({ requestNo, status: 'queued', result: null, error: null })));
    // Claimed again, it finds nothing that waits, and is ended.
    await notePoll(database, { id, owner }, { dueInMs: 0 });
  }

  /** The tokens and the cost of answers that no turn uses; null: there are none, or no price. */
  waste(): { wasted: Record<string, number> | null; wastedMicros: number | null } {
    const unused = [...this.#answers].filter(([requestNo]) => !this.#used.has(requestNo)).map(([, answer]) => answer);
    if (unused.length === 0) return { wasted: null, wastedMicros: null };
    const wasted = { answers: unused.length, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    let wastedMicros: number | null = null;
    for (const { model, usage } of unused) {
      const tokens = tokensOfUsage(usage);
      for (const name of ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const)
        wasted[name] += tokens[name];
      const answer = { model: String(model), usage, day: this.#day, liveShare: null };
      const { costMicros } = answerCosts(this.#parts.prices.table, answer);
      if (costMicros !== null) wastedMicros = (wastedMicros ?? 0) + costMicros;
    }
    return { wasted, wastedMicros };
  }

  /**
   * Of an answer to a request that waits; others are not of this submission, or were stored before.
   */
  #toFigures({ requestNo, result }: RequestResult): Pick<NewResult, 'figures'> {
    const sent = this.#sent.get(requestNo);
    if (result === null || sent?.isWaiting !== true) return {};
    const { model, liveShare } = sent;
    const { cacheWrite1hTokens: _hour, ...tokens } = tokensOfUsage(result.usage);
    const answer = { model, day: this.#day, usage: result.usage, liveShare };
    return { figures: { model, ...tokens, ...answerCosts(this.#parts.prices.table, answer) } };
  }

  /** Stores results, and counts those of requests that still wait. */
  async #store(results: readonly NewResult[]): Promise<void> {
    const { database, publish, metrics } = this.#parts;
    const { numbers } = publish(await storeResults(database, { providerBatchId: this.#submission.id, results }));
    for (const { requestNo, status } of results) {
      if (!numbers.includes(requestNo)) continue;
      this.#used.add(requestNo);
      metrics?.settled(status === 'queued' ? 'returned' : status, 1);
    }
  }
}
