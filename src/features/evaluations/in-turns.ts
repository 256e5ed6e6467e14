// The part of evaluations in a turn. A turn of a run sends the request that its item was copied with,
// and each of its tool calls is answered with what was recorded, so no tool runs and nothing leaves
// the service. A call without a recorded result ends the turn, unless the evaluation has a text for it.
import { factsOfModel, type AgentSettings } from '../../config.ts';
import type { EvaluationRef, InboundMessage } from '../../core/inbound.ts';
import { modelOfRef, refOfModel } from '../../core/models.ts';
import type { TurnFeature, TurnParts } from '../../kernel/turn/context.ts';
import type { OpenedTurn } from '../../kernel/turn/opened-turn.ts';
import { newEntry, NO_ROWS } from '../../kernel/turn/position.ts';
import { storeStep } from '../../kernel/turn/store-step.ts';
import { TurnFailed } from '../../kernel/turn/turn-stop.ts';
import { textOutcome, type ToolOutcome } from '../../tools/tool.ts';
import { matchCalls } from '../tries/rules.ts';
import { listEarlier, saying, toOutcome } from '../tries/stand-ins.ts';
import { modelFor } from '../../kernel/turn/open/assemble-request.ts';
import { changeRequest, requestOfJudgement, type AskedModel } from './rules/runs.ts';
import { readAskedRequest, readAskedSteps } from './store/read-case.ts';

/** The result of a call that ends a run. */
const DIVERGED: ToolOutcome = {
  ...textOutcome('Not run: the recorded turn has made no such call, so this run of an evaluation ends here.'),
  endsTurn: true,
};

export function evaluationsInTurns({ config, database, model }: TurnParts): TurnFeature {
  /** Throws `TurnFailed` for a model that cannot be asked. */
  function asModel(agent: AgentSettings, wanted: string): AskedModel {
    const ref = modelFor(agent, wanted, model.providers);
    return { model: modelOfRef(ref), facts: factsOfModel(config, ref) };
  }
  return {
    async request(inputs, agent) {
      const ref = refOf(inputs);
      if (ref === null) return null;
      if (ref.part > 0) {
        const body = inputs[0]?.body as InboundMessage;
        return requestOfJudgement(body, asModel(agent, body.model ?? agent.model));
      }
      const { request, spec } = requireItem(ref, await readAskedRequest(database, ref));
      const candidate = spec.candidates[ref.candidate];
      if (request === null || candidate === undefined) return null;
      return changeRequest(request, candidate, asModel(agent, candidate.model ?? refOfModel(request)));
    },
    calls: {
      async standIns(turn, calls) {
        const ref = refOf(turn.journal.at.inputs);
        if (ref === null) return null;
        const { steps, spec } = requireItem(ref, await readAskedSteps(database, ref));
        const { unknownCalls } = spec;
        const recorded = steps.flatMap((step) => step.calls);
        const found = matchCalls(recorded, listEarlier(turn, calls), calls);
        const unknown = unknownCalls === 'diverge' ? DIVERGED : textOutcome(unknownCalls.answer);
        return new Map(
          calls.map((call, index) => {
            const result = found[index]?.result;
            return [call.id, saying(call, result === undefined ? unknown : toOutcome(result))];
          }),
        );
      },
    },
    async prepare(context, turn) {
      const ref = refOf(turn.journal.at.inputs);
      const step = turn.journal.at.progress.steps;
      // After a crash, they may have joined already.
      if (ref === null || step === 0 || turn.journal.at.lastEntry.kind === 'steer') return;
      const { steps } = requireItem(ref, await readAskedSteps(database, ref));
      const { joined = [] } = steps[step - 1] ?? {};
      if (joined.length === 0) return;
      const entries = joined.map((text) => newEntry('steer', 'user', [{ type: 'text', text }]));
      await storeStep(context, turn, { ...NO_ROWS, entries });
    },
  };
}

function refOf(inputs: OpenedTurn['journal']['at']['inputs']): EvaluationRef | null {
  return (inputs[0]?.body as Partial<InboundMessage> | undefined)?.evaluation ?? null;
}

/** Throws `TurnFailed` when the item is gone. */
function requireItem<Found>({ id, n }: EvaluationRef, found: Found | null): Found {
  if (found !== null) return found;
  throw new TurnFailed('item_gone', `The item ${n} of the evaluation ${id} was erased or deleted.`);
}
