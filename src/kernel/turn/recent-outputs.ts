// The lengths of the last answers of each agent in this worker: an estimate of the length of the next one.

/** How many answers of an agent are remembered, and the expected length before there are any. */
const OUTPUTS_MAX = 200;
const OUTPUT_TOKENS_DEFAULT = 1_000;
const OUTPUT_QUANTILE = 0.9;

export class OutputHistory {
  /** In tokens. */
  readonly #outputs = new Map<string, readonly number[]>();

  /** Notes the length of an answer. */
  add(agentId: string, tokens: number): void {
    this.#outputs.set(agentId, [...(this.#outputs.get(agentId) ?? []), tokens].slice(-OUTPUTS_MAX));
  }

  /** The length that nine of ten recent answers of the agent did not exceed; never more than a request allows. */
  likely(agentId: string, maxTokens: number): number {
    const sorted = this.#outputs.get(agentId)?.toSorted((one, other) => one - other) ?? [];
    const likely = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * OUTPUT_QUANTILE))];
    return Math.min(likely ?? OUTPUT_TOKENS_DEFAULT, maxTokens);
  }
}
