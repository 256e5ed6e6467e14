// The part of evaluations in a turn. A turn of a run sends the request that its item was copied with,
// and each of its tool calls is answered with what was recorded, so no tool runs and nothing leaves
// the service. A call without a recorded result ends the turn, unless the evaluation has a text for it.
import { factsOfModel, type AgentSettings } from '../../config.ts';
import type { EvaluationRef, InboundMessage } from '../../core/inbound.ts';
import { given } from '../../core/json.ts';
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
      const asked = await readAskedRequest(database, ref);
      if (asked === null)
        throw new TurnFailed('item_gone', `The item ${ref.n} of the evaluation ${ref.id} was erased or deleted.`);
      const { request, spec } = asked;
      const candidate = spec.candidates[ref.candidate];
      if (request === null || candidate === undefined) return null;
      return changeRequest(request, candidate, asModel(agent, candidate.model ?? refOfModel(request)));
    },
    calls: {
      async standIns(turn, calls) {
        const ref = refOf(turn.journal.at.inputs);
        if (ref === null) return null;
        // An item that was erased meanwhile ends its runs.
        const { steps, spec } = (await readAskedSteps(database, ref)) ?? {
          steps: [],
          spec: { unknownCalls: 'diverge' },
        };
        const recorded = steps.flatMap(({ calls: made, endsTurn }) => made.map((one) => ({ ...one, endsTurn })));
        const found = matchCalls(recorded, listEarlier(turn, calls), calls);
        const unknown = spec.unknownCalls === 'diverge' ? DIVERGED : textOutcome(spec.unknownCalls.answer);
        return new Map(
          calls.map((call, index) => {
            const match = found[index] ?? null;
            if (match === null) return [call.id, saying(call, unknown)];
            const { result, endsTurn } = match;
            return [call.id, saying(call, { ...toOutcome(result), ...given({ endsTurn }) })];
          }),
        );
      },
    },
    async prepare(context, turn) {
      const { at, attempt } = turn.journal;
      const ref = refOf(at.inputs);
      // After a crash, they may have joined already.
      if (ref === null || at.lastEntry.kind !== 'results') return;
      const { promptSeq } = attempt.requests.rules;
      const done = turn.transcript.entries.filter(({ seq, kind }) => seq > promptSeq && kind === 'results').length;
      const { joined = [] } = (await readAskedSteps(database, ref))?.steps[done - 1] ?? {};
      if (joined.length === 0) return;
      const entries = joined.map((text) => newEntry('steer', 'user', [{ type: 'text', text }]));
      await storeStep(context, turn, { ...NO_ROWS, entries });
    },
  };
}

function refOf(inputs: OpenedTurn['journal']['at']['inputs']): EvaluationRef | null {
  return (inputs[0]?.body as Partial<InboundMessage> | undefined)?.evaluation ?? null;
}
