// External tools in turns: those of the configuration and of the messages that a turn answers, and
// what becomes of their calls that wait.
import { toolCallId, type ExternalTool } from '../../core/tool-policy.ts';
import type { TurnFeature, TurnParts } from '../../kernel/turn/context.ts';
import type { HeldCall, Resumption } from '../../kernel/turn/hold-kind.ts';
import type { ToolSpec } from '../../core/model-request.ts';
import { checkOutput } from '../../model/check-output.ts';
import { errorOutcome, laterOutcome, type Tool } from '../../tools/tool.ts';

const NONE_HELD = new Map<number, never>();

export function externalToolsInTurns({ config }: TurnParts): TurnFeature {
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
    calls: {
      code: 'external_tool',
      // A call begins, and waits from then on.
      hold: async () => NONE_HELD,
      resume: async (_turn, calls) => new Map(calls.map((call) => [call.ordinal, decide(call)])),
      explain({ id: turnId, journal }, calls) {
        const step = journal.at.progress.steps;
        const named = calls.map(({ call, ordinal }) => ({
          id: toolCallId({ turnId, step, ordinal }),
          tool: call.name,
        }));
        const tools = named.map(({ tool }) => tool).join(', ');
        const text = `The turn waits for the result of ${tools}.`;
        return { text, by: named[0]?.id ?? null, facts: { calls: named } };
      },
    },
  };
}

function decide({ call, leftMs }: HeldCall): Resumption {
  if (leftMs !== null && leftMs > 0) return { kind: 'held', forMs: leftMs };
  const content = `${call.name}: no result has come in time. The program that runs it may or may not have done its work.`;
  return { kind: 'known', outcome: { content, isError: true }, status: 'failed' };
}

// A tool that another program runs, as a tool of agents: its call begins by waiting for the result.

export function createExternalTool(
  { name, description, inputSchema, timeout }: ExternalTool,
  { isNoticed }: { isNoticed: boolean },
): Tool {
  return {
    // The check of the definition has seen its type.
    spec: { name, description, input_schema: inputSchema as ToolSpec['input_schema'] },
    // A message may define it, whose words are not for the system prompt.
    summary: 'A tool that another program runs',
    // Nothing has happened before the wait is stored.
    isIdempotent: true,
    async run(input, call) {
      const checked = await checkOutput(JSON.stringify(input ?? {}), { type: 'json_schema', schema: inputSchema });
      if (checked.kind === 'unfit')
        return errorOutcome(`${name}: the input does not fit: ${checked.faults.join('; ')}`);
      const id = toolCallId({ turnId: call.turnId, ...call.place });
      const data = { toolCallId: id, callId: call.callId, name, expiresInMs: timeout };
      const events = [{ type: 'tool.requested', data }];
      return laterOutcome({ code: 'external_tool', forMs: timeout, ref: id, events, isNoticed });
    },
  };
}
