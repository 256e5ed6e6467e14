// Reads the results of a batch that has ended, line by line, and stores them in groups. A reading
// that breaks off begins again: what is stored already is a no-op.
import { answerCosts, readResultLine, tokensOfUsage, type ResultLine } from './rules/request-end.ts';
import { endReading, notePoll, readUsedResults, returnRequests } from './store/follow-submissions.ts';
import { readSentRequests, storeResults, type RequestResult, type SentRequest } from './store/store-results.ts';
import { noteUnknown, type ProviderSubmission } from './store/submissions.ts';
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
  const waste = await reading.waste();
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

type ReturnedLine = Extract<ResultLine, { kind: 'answered' | 'errored' | 'returned' }>;

class Reading {
  readonly #parts: LaneParts;
  readonly #submission: ProviderSubmission;
  #isProved: boolean;
  #group: RequestResult[] = [];
  /** The model and the usage of each answer, by the number of its request. */
  readonly #answers = new Map<number, { model: string; usage: unknown }>();
  readonly #sent: ReadonlyMap<number, SentRequest>;
  readonly #day = new Date().toISOString().slice(0, 10);

  constructor(parts: LaneParts, submission: ProviderSubmission, sent: ReadonlyMap<number, SentRequest>) {
    this.#parts = parts;
    this.#sent = sent;
    this.#submission = submission;
    this.#isProved = submission.isProved;
  }

  async take(text: string): Promise<'taken' | 'not-ours'> {
    const { id } = this.#submission;
    const line = readResultLine(id, text);
    if (line.kind === 'foreign') {
      if (!this.#isProved) return 'not-ours';
      this.#parts.logger.warn({ submission: id }, 'Result of an unknown request is ignored');
    }
    if (line.kind === 'foreign' || line.kind === 'unreadable') return 'taken';
    if (!this.#isProved) {
      this.#isProved = true;
      const about = { submission: id, providerId: this.#submission.providerId };
      this.#parts.logger.info(about, 'Adopted batch was confirmed to be the submission');
    }
    if (line.kind === 'answered') {
      const { model } = line.message as { model?: unknown };
      this.#answers.set(line.requestNo, { model: typeof model === 'string' ? model : '', usage: line.usage });
    }
    this.#group.push({ ...toResult(line), ...this.#toFigures(line) });
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
  async waste(): Promise<{ wasted: Record<string, number> | null; wastedMicros: number | null }> {
    const used = await readUsedResults(this.#parts.database, this.#submission.id);
    const unused = [...this.#answers].filter(([requestNo]) => !used.has(requestNo)).map(([, answer]) => answer);
    if (unused.length === 0) return { wasted: null, wastedMicros: null };
    const tokens = unused.map(({ usage }) => tokensOfUsage(usage));
    const sum = (name: keyof ReturnType<typeof tokensOfUsage>): number =>
      tokens.reduce((total, one) => total + one[name], 0);
    const { table } = this.#parts.prices;
    const costs = unused.map((answer) => answerCosts(table, { ...answer, day: this.#day, liveShare: null }).costMicros);
    return {
      wasted: {
        answers: unused.length,
        inputTokens: sum('inputTokens'),
        outputTokens: sum('outputTokens'),
        cacheReadTokens: sum('cacheReadTokens'),
        cacheWriteTokens: sum('cacheWriteTokens'),
      },
      wastedMicros: costs.every((cost) => cost === null) ? null : costs.reduce<number>((a, cost) => a + (cost ?? 0), 0),
    };
  }

  /**
   * Of an answer to a request that waits; others are not of this submission, or were stored before.
   */
  #toFigures(line: ReturnedLine): Pick<RequestResult, 'figures'> {
    const sent = this.#sent.get(line.requestNo);
    if (line.kind !== 'answered' || sent === undefined) return {};
    const { model, liveShare } = sent;
    const { cacheWrite1hTokens: _hour, ...tokens } = tokensOfUsage(line.usage);
    const costs = answerCosts(this.#parts.prices.table, { model, day: this.#day, usage: line.usage, liveShare });
    return { figures: { model, ...tokens, ...costs } };
  }

  /** Stores results, and counts those of requests that still wait. */
  async #store(results: readonly RequestResult[]): Promise<void> {
    const { database, publish, metrics } = this.#parts;
    const { numbers } = publish(await storeResults(database, { providerBatchId: this.#submission.id, results }));
    const stored = results.filter(({ requestNo }) => numbers.includes(requestNo));
    for (const status of ['answered', 'errored', 'queued'] as const) {
      const requests = stored.filter((result) => result.status === status).length;
      metrics?.settled(status === 'queued' ? 'returned' : status, requests);
    }
  }
}

function toResult(line: ReturnedLine): RequestResult {
  const { requestNo } = line;
  if (line.kind === 'answered')
    return { requestNo, status: 'answered', result: JSON.stringify(line.message), error: null };
  if (line.kind === 'errored') return { requestNo, status: 'errored', result: null, error: JSON.stringify(line.error) };
  return { requestNo, status: 'queued', result: null, error: null };
}
