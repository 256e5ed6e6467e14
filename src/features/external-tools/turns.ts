// External tools in turns: those of the configuration and of the messages that a turn answers, and what becomes of their calls that wait.
import type { ToolOutcome } from '../../tools/tool.ts';
import { toolCallId } from '../../core/external-tools.ts';
import type { TurnFeature, TurnParts } from '../../kernel/turn/context.ts';
import type { HeldCall, Resumption } from '../../kernel/turn/hold-kind.ts';
import { externalToolReason } from '../../kernel/rules/why.ts';
import { createExternalTool } from './external-tool.ts';
import { readLateResults, type LateResult } from './store/results.ts';

const NONE_HELD = new Map<number, never>();

export function externalToolsInTurns({ config, database }: TurnParts): TurnFeature {
  const { external, externalWebhook } = config.tools;
  const isNoticed = externalWebhook !== undefined;
  return {
    async tools(_agentId, { externalTools = [] }) {
      const all = [...external, ...externalTools];
      if (all.length === 0) return null;
      return {
        version: JSON.stringify(all),
        choose: ({ isAllowed, isTaken }) =>
          all
            .map((tool) => createExternalTool(tool, { isNoticed }))
            .filter((tool) => isAllowed(tool) && !isTaken(tool.spec.name)),
      };
    },
    holds: {
      code: 'external_tool',
      // A call begins, and waits from then on.
      hold: async () => NONE_HELD,
      async resume({ id: turnId }, calls) {
        const late = calls.filter(isLate);
        const results = late.length === 0 ? [] : await readLateResults(database, turnId, late[0]!.step);
        return new Map(calls.map((call) => [call.ordinal, decide(call, results)]));
      },
      explain({ id: turnId, journal }, calls) {
        const step = journal.at.progress.steps;
        const named = calls.map(({ call, ordinal }) => ({
          id: toolCallId({ turnId, step, ordinal }),
          tool: call.name,
        }));
        return { reason: externalToolReason(named), facts: { calls: named } };
      },
    },
  };
}

function isLate({ leftMs }: HeldCall): boolean {
  return (leftMs ?? 0) <= 0;
}

function decide(held: HeldCall, results: readonly LateResult[]): Resumption {
  if (!isLate(held)) return { kind: 'held', forMs: held.leftMs ?? 0 };
  // A result may have been stored after the claim had read the ledger, and before the time was over.
  const come = results.find(({ ordinal }) => ordinal === held.ordinal)?.result ?? null;
  if (come !== null) return { kind: 'known', outcome: come as ToolOutcome, status: come.isError ? 'failed' : 'done' };
  const content = `${held.call.name}: no result has come in time. The program that runs it may or may not have done its work.`;
  return { kind: 'known', outcome: { content, isError: true }, status: 'failed' };
}
