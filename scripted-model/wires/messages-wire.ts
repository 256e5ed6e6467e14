// The Messages API: requests are checked by `validateRequest`, answers written as events or as one
// message.
import type { AnswerBlock, ComposedAnswer } from '../compose-answer.ts';
import { errorBody, invalidRequest, messageOfStatus, retryHeaders } from '../provider-error.ts';
import { pieces } from '../stream-answer.ts';
import { validateRequest } from '../validate-request.ts';
import type { MessagesRequest } from '../wire.ts';
import { isRecord } from '../wire.ts';
import type { ModelWire } from './model-wire.ts';

export const MESSAGES_WIRE: ModelWire = {
  callIdStart: 'toolu_',
  read: readMessages,
  tooLong: (tokens, tokensMax) => invalidRequest(`prompt is too long: ${tokens} tokens > ${tokensMax} maximum`),
  messageOf: ({ status }) => messageOfStatus(status),
  errorHeaders: retryHeaders,
  errorBody,
  errorFrame: (error, { requestId }) => frameOf('error', errorBody(error, requestId)),
  frames: framesOf,
  body: messageBody,
};

function readMessages(body: unknown): MessagesRequest {
  const request: MessagesRequest & { output_config?: { format?: { schema?: unknown } | null } } = validateRequest(body);
  const schema = request.output_config?.format?.schema;
  return isRecord(schema) ? { ...request, outputSchema: schema } : request;
}

/** The answer as the body of a call without streaming. */
export function messageBody(answer: ComposedAnswer): string {
  const content = answer.blocks.map((block) => {
    if (block.type !== 'tool_use') return block;
    const { inputJson, ...call } = block;
    return { ...call, input: inputOf(inputJson) };
  });
  return JSON.stringify({
    ...startOf(answer),
    content,
    stop_reason: answer.stopReason,
    usage: answer.usage,
  });
}

/** Arguments that are not JSON stay text, as models without a stream send them. */
function inputOf(inputJson: string): unknown {
  try {
    return JSON.parse(inputJson) as unknown;
  } catch {
    return inputJson;
  }
}

function framesOf(answer: ComposedAnswer): string[] {
  const start = {
    type: 'message_start',
    message: { ...startOf(answer), usage: { ...answer.usage, output_tokens: 1 } },
  };
  const frames = [frameOf('message_start', JSON.stringify(start))];
  if (answer.malformed === 'stream') {
    frames.push(frameOf('content_block_delta', '{"type":"content_block_delta","index":0,"delta":{"type":"text_de'));
    return frames;
  }
  for (const [index, block] of answer.blocks.entries()) {
    frames.push(blockStart(index, block));
    if (index === 0) frames.push('event: ping\ndata: {"type":"ping"}\n\n');
    for (const delta of deltasOf(block, answer.malformed === 'input')) {
      frames.push(frameOf('content_block_delta', `{"type":"content_block_delta","index":${index},"delta":${delta}}`));
    }
    frames.push(frameOf('content_block_stop', `{"type":"content_block_stop","index":${index}}`));
  }
  const end = {
    type: 'message_delta',
    delta: { stop_reason: answer.stopReason, stop_sequence: null },
    usage: answer.usage,
  };
  frames.push(frameOf('message_delta', JSON.stringify(end)), 'event: message_stop\ndata: {"type":"message_stop"}\n\n');
  return frames;
}

function startOf(answer: ComposedAnswer): Record<string, unknown> {
  const { id, model } = answer;
  return { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null };
}

function frameOf(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

function blockStart(index: number, block: AnswerBlock): string {
  return frameOf(
    'content_block_start',
    JSON.stringify({ type: 'content_block_start', index, content_block: beginningOf(block) }),
  );
}

function beginningOf(block: AnswerBlock): Record<string, unknown> {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data };
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} };
  }
}

/** The deltas of a block, each as JSON. */
function deltasOf(block: AnswerBlock, isMalformed: boolean): string[] {
  switch (block.type) {
    case 'text':
      return pieces(block.text).map((text) => `{"type":"text_delta","text":${JSON.stringify(text)}}`);
    case 'thinking':
      return [
        ...pieces(block.thinking).map((thinking) => `{"type":"thinking_delta","thinking":${JSON.stringify(thinking)}}`),
        `{"type":"signature_delta","signature":${JSON.stringify(block.signature)}}`,
      ];
    case 'redacted_thinking':
      return [];
    case 'tool_use': {
      const json = isMalformed ? `${block.inputJson.slice(0, -1)}, "unfinished": "` : block.inputJson;
      return pieces(json).map((part) => `{"type":"input_json_delta","partial_json":${JSON.stringify(part)}}`);
    }
  }
}
