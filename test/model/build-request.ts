// Builders of model requests for the tests of the model room, and a harness that asks a scripted
// model through the real client.
import { createAnthropicModel } from '../../src/model/anthropic.ts';
import type { ContentBlock } from '../../src/core/content.ts';
import type { ModelAnswer, ModelMessage, ModelRequest } from '../../src/core/model-request.ts';

/** A request with these messages; a string is a user's text. */
export function request(messages: (string | ModelMessage)[], overrides: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'scripted-1',
    maxTokens: 4096,
    system: [{ type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } }],
    tools: [{ name: 'read', description: 'Reads a file.', input_schema: { type: 'object', properties: {} } }],
    messages: messages.map((message) => (typeof message === 'string' ? user(message) : message)),
    ...overrides,
  };
}

export function user(...content: (string | ContentBlock)[]): ModelMessage {
  return {
    role: 'user',
    content: content.map((block) => (typeof block === 'string' ? { type: 'text', text: block } : block)),
  };
}

export function assistant(...content: (string | ContentBlock)[]): ModelMessage {
  return { ...user(...content), role: 'assistant' };
}

/** The message with a result for each tool call of an answer. */
export function results(answer: ModelAnswer, text = 'ok'): ModelMessage {
  return user(
    ...answer.content.flatMap((block): ContentBlock[] =>
      block.type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: block.id, content: text }] : [],
    ),
  );
}

interface Asked {
  answer: ModelAnswer;
  /** The arguments of `onChunk`, in order. */
  deltas: string[];
}

export interface Asker {
  ask(
    request: ModelRequest,
    options?: { turn?: string; signal?: AbortSignal; onChunk?: (delta: string) => void },
  ): Promise<Asked>;
  /** Plays the turn of a prompt to its end, answering each tool call, and returns all answers. */
  play(prompt: string, options?: { turn?: string }): Promise<ModelAnswer[]>;
}

const STEPS_MAX = 50;

/** Asks the model at `url` through the real SDK. */
export function createAsker(url: string): Asker {
  const model = createAnthropicModel({ apiKey: 'any', baseUrl: url });
  const asker: Asker = {
    async ask(asked, { turn, signal = new AbortController().signal, onChunk } = {}) {
      const deltas: string[] = [];
      const answer = await model.ask(asked, {
        signal,
        headers: turn === undefined ? {} : { 'x-holdfast-turn': turn },
        onChunk: (delta) => {
          deltas.push(delta);
          onChunk?.(delta);
        },
      });
      return { answer, deltas };
    },
    async play(prompt, options) {
      const messages: ModelMessage[] = [user(prompt)];
      const answers: ModelAnswer[] = [];
      while (answers.length < STEPS_MAX) {
        const { answer } = await asker.ask(request(messages), options);
        answers.push(answer);
        if (answer.stopReason !== 'tool_use') break;
        messages.push({ role: 'assistant', content: answer.content }, results(answer));
      }
      return answers;
    },
  };
  return asker;
}
