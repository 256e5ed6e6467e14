// The requests for tasks, of the protocol of 2025-11-25. The library knows their words, and has no
// code for them.
import { ProtocolError, ProtocolErrorCode, type Client, type RequestOptions } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { storableText } from '../../core/text.ts';
import { isOfSession } from './session-errors.ts';
import { readSent } from './sent-answers.ts';
import type { CallReply, TaskReply } from './server-port.ts';

/** How long the server keeps the result. */
const TTL_MS = 24 * 3_600_000;
const REQUEST_MS = 30_000;

const TASK_ID_CHARS_MAX = 1_000;

const pollInterval = z.number().nullable().catch(null);
const task = z.looseObject({
  status: z.string().catch('working'),
  statusMessage: z.string().optional().catch(undefined),
  pollInterval,
});
const anything = z.looseObject({});
/** The id is stored. */
const taskId = z
  .string()
  .min(1)
  .max(TASK_ID_CHARS_MAX)
  .refine((id) => storableText(id) === id);
const begun = z.looseObject({ task: z.looseObject({ taskId, pollInterval }) });

/** Calls a tool as a task. A server may answer at once all the same. */
export async function beginTask(client: Client, params: object, options: RequestOptions): Promise<CallReply> {
  const request = { method: 'tools/call', params: { ...params, task: { ttl: TTL_MS } } };
  const answer = readSent(await client.request(request, anything, options));
  const { data } = begun.safeParse(answer.result);
  if (data === undefined) return { kind: 'answered', answer };
  return { kind: 'begun', task: { id: data.task.taskId, pollMs: data.task.pollInterval } };
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
        return { kind: 'ended', answer: readSent(result) };
      }
      case 'failed':
      case 'cancelled':
        return { kind: 'failed', reason: statusMessage ?? `its status is ${status}` };
      case 'input_required':
        await cancelTask(client, taskId, signal).catch(() => undefined);
        return { kind: 'failed', reason: 'it asks for input, which Holdfast does not give' };
      default:
        return { kind: 'runs', pollMs: pollInterval };
    }
  } catch (error) {
    // The server has answered that it does not know the task, unless it says that it has failed
    // itself: it may know the task later.
    if (error instanceof ProtocolError && error.code !== ProtocolErrorCode.InternalError && !isOfSession(error))
      return { kind: 'gone', reason: error.message };
    throw error;
  }
}

export async function cancelTask(client: Client, taskId: string, signal: AbortSignal): Promise<void> {
  await client.request({ method: 'tasks/cancel', params: { taskId } }, anything, { signal, timeout: REQUEST_MS });
}
