// The lengths of the last answers of each agent in this worker: an estimate of the length of the next one.
import { withOutput, type RecentOutputs } from '../../features/budgets/rules/likely-cost.ts';

export class OutputHistory {
  readonly #outputs = new Map<string, RecentOutputs>();

  /** The lengths of the agent's last answers, in tokens. */
  of(agentId: string): RecentOutputs {
    return this.#outputs.get(agentId) ?? [];
  }

  /** Notes the length of an answer. */
  add(agentId: string, tokens: number): void {
    this.#outputs.set(agentId, withOutput(this.of(agentId), tokens));
  }
}
