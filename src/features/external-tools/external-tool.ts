// A tool that another program runs, as a tool of agents: its call begins by waiting for the result.
import { toolCallId, type ExternalTool } from '../../core/tool-policy.ts';
import type { ToolSpec } from '../../core/model-request.ts';
import { checkOutput } from '../../model/check-output.ts';
import { errorOutcome, laterOutcome, type Tool } from '../../tools/tool.ts';

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
