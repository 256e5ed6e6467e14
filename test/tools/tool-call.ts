// A call of a tool, as a turn makes it.
import { randomUUID } from 'node:crypto';
import type { ToolModels } from '../../src/tools/paid-call.ts';
import type { ToolCall } from '../../src/tools/tool.ts';

/** For a tool that calls no model. */
export const NO_MODELS: ToolModels = {
  ask: () => Promise.reject(new Error('no model is called here')),
  pay: () => Promise.reject(new Error('no model is called here')),
};

/**
 * A call in `workspaceDir`, without an abort signal unless one is given. Its key is unique on the
 * machine: the end of a command also ends processes outside its group that have its key.
 */
export function aToolCall(call: Partial<ToolCall> & { workspaceDir: string }): ToolCall {
  return {
    sessionKey: 'agent:main:test',
    agentId: 'main',
    model: 'anthropic/claude-sonnet-5-5',
    thinking: 'off',
    turnId: '0198c0de-0000-7000-8000-000000000001',
    tokens: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, contextTokens: 0 },
    callId: 'toolu_1',
    idempotencyKey: `key-${randomUUID()}`,
    place: { step: 1, ordinal: 1 },
    lease: { epoch: 1, assertHeld: () => undefined },
    models: NO_MODELS,
    signal: new AbortController().signal,
    ...call,
  };
}
