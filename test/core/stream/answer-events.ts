// Builders of the events of an answer, and the reducer's results for them.
import type { ModelAnswer, ModelMessage } from '../../../src/core/model-request.ts';
import type { AnswerRules } from '../../../src/model/stream/draft-answer.ts';
import { AnswerReducer } from '../../../src/model/stream/reduce-answer.ts';
import type { StreamEvent } from '../../../src/model/stream/stream-event.ts';

export const START: StreamEvent = {
  type: 'message_start',
  message: { id: 'msg_1', model: 'm', usage: { input_tokens: 7, output_tokens: 1, cache_read_input_tokens: 3 } },
};

/** The end of an answer, with its reason. */
export function end(reason = 'end_turn'): StreamEvent[] {
  return [
    { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ];
}

export function textBlock(index: number, ...texts: string[]): StreamEvent[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
    ...texts.map((text): StreamEvent => ({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index },
  ];
}

/** A call; its arguments in parts. */
export function toolBlock(index: number, call: { id?: unknown; name?: unknown }, ...parts: string[]): StreamEvent[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'tool_use', input: {}, ...call } },
    ...parts.map((part): StreamEvent => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: part },
    })),
    { type: 'content_block_stop', index },
  ];
}

/** Rules under which only the default steps repair anything. */
export function rules(overrides: Partial<AnswerRules> = {}): AnswerRules {
  return {
    tools: [{ name: 'read' }, { name: 'exec' }, { name: 'session_status' }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }],
    author: { provider: 'local', model: 'm', callIds: 'native' },
    callNo: 1,
    unknownToolThreshold: 3,
    replacements: [],
    repairArguments: () => null,
    decodeText: null,
    ...overrides,
  };
}

export interface Reduced {
  answer: ModelAnswer;
  /** The additions of each event to the reply. */
  deltas: string[];
}

export function reduce(events: readonly StreamEvent[], overrides: Partial<AnswerRules> = {}): Reduced {
  const reducer = new AnswerReducer(rules(overrides));
  const deltas = events.map((event) => reducer.take(event));
  if (reducer.answer === null) throw new Error('The events make no answer.');
  return { answer: reducer.answer, deltas };
}

/** An earlier answer that called tools, and their results. */
export function calls(...called: { id: string; name: string }[]): ModelMessage[] {
  return [
    { role: 'assistant', content: called.map(({ id, name }) => ({ type: 'tool_use', id, name, input: {} })) },
    { role: 'user', content: called.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })) },
  ];
}
