// The tool calls of a turn that have ended in some way, with what they were given and what came
// back.
import type { ToolCallDetail } from '../contract/details.ts';
import type { ListedTurn } from '../contract/views.ts';
import type { ApiClient } from './api-client.ts';

/** Of the steps that a list shows, in their order. */
export async function readCalls(
  api: ApiClient,
  { id, steps = [] }: Pick<ListedTurn, 'id' | 'steps'>,
  statuses: readonly string[],
): Promise<ToolCallDetail[]> {
  const calls = steps.flatMap(({ tools }) => tools).filter(({ status }) => statuses.includes(status));
  return await Promise.all(calls.map(({ callId }) => api.getToolCall({ id, callId })));
}
