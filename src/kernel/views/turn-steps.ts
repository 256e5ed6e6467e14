// What a turn did, step by step, from its journal: the model calls with their tokens and the tool calls with their ends. Payloads
// are not here but in the transcript.
import type { ModelCallView, StepView, ToolCallView, TurnView } from '../../contract/views.ts';

/** A turn without its steps; `stepCount` is what its row says. */
export type TurnSummary = Omit<TurnView, 'steps' | 'spans'>;

/** A turn and its calls, as `settlement-sql.ts` makes them. */
export interface TurnRow {
  turn: TurnSummary;
  calls: { step: number; call: ModelCallView }[] | null;
  tools: { step: number; tool: ToolCallView }[] | null;
}

/** The steps of a turn, in order. */
export function buildSteps({ calls, tools }: Pick<TurnRow, 'calls' | 'tools'>): StepView[] {
  const steps = new Map<number, StepView>();
  const buildStep = (n: number): StepView => {
    const step = steps.get(n) ?? { n, calls: [], tools: [] };
    steps.set(n, step);
    return step;
  };
  for (const { step, call } of calls ?? []) buildStep(step).calls.push(call);
  for (const { step, tool } of tools ?? []) buildStep(step).tools.push(tool);
  return [...steps.values()].sort((one, other) => one.n - other.n);
}
