// The requests for tasks, of the protocol of 2025-11-25. The library knows their words, and has no code for them.
import {
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type Client,
  type RequestOptions,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { CallReply, TaskReply } from './server-port.ts';

/** How long the server keeps the result. */
const TTL_MS = 24 * 3_600_000;
const REQUEST_MS = 30_000;

const task = z.looseObject({
  taskId: z.string(),
  status: z.string(),
  statusMessage: z.string().nullish(),
  pollInterval: z.number().nullish(),
});
const anything = z.looseObject({});
const begun = z.looseObject({ task });

/** Calls a tool as a task. A server may answer at once all the same. */
export async function beginTask(client: Client, params: object, options: RequestOptions): Promise<CallReply> {
  const request = { method: 'tools/call', params: { ...params, task: { ttl: TTL_MS } } };
  const answer = await client.request(request, anything, options);
  const { data } = begun.safeParse(answer);
  if (data === undefined) return { kind: 'answered', result: answer as CallToolResult };
  return { kind: 'begun', task: { id: data.task.taskId, pollMs: data.task.pollInterval ?? null } };
}

export async function readTask(client: Client, taskId: string, signal: AbortSignal): Promise<TaskReply> {
  const options = { signal, timeout: REQUEST_MS };
  try {
    const { status, statusMessage, pollInterval } = await client.request(
      { method: 'tasks/get', params: { taskId } },
      task,
      options,
    );
    switch (status) {
      case 'completed': {
        const result = await client.request({ method: 'tasks/result', params: { taskId } }, anything, options);
        return { kind: 'ended', result: result as CallToolResult };
      }
      case 'failed':
      case 'cancelled':
        return { kind: 'failed', reason: statusMessage ?? `its status is ${status}` };
      case 'input_required':
        await cancelTask(client, taskId, signal).catch(() => undefined);
        return { kind: 'failed', reason: 'it asks for input, which Holdfast does not give' };
      default:
        return { kind: 'runs', pollMs: pollInterval ?? null };
    }
  } catch (error) {
    // The server has answered that it does not know the task, unless it says that it has failed itself: it may know the task later.
    if (error instanceof ProtocolError && error.code !== ProtocolErrorCode.InternalError)
      return { kind: 'gone', reason: error.message };
    throw error;
  }
}

export async function cancelTask(client: Client, taskId: string, signal: AbortSignal): Promise<void> {
  await client.request({ method: 'tasks/cancel', params: { taskId } }, anything, { signal, timeout: REQUEST_MS });
}
