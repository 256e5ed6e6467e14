// Chat Completions, as OpenAI and the servers that are compatible with it write answers. Thinking
// is shown as `reasoning_content`, as many of those servers show it.
import type { AnswerBlock, ComposedAnswer } from '../compose-answer.ts';
import { pieces } from '../stream-answer.ts';
import { isRecord } from '../wire.ts';
import type { Exchange, ModelWire } from './model-wire.ts';
import { totalsOf } from './model-wire.ts';
import { errorFields, OPENAI_ERRORS, refused } from './openai-errors.ts';
import { readChat } from './read-chat.ts';

/** Without `none`, which leaves the reason out; others are sent as they are. */
const FINISH_REASONS: Readonly<Record<string, string | null>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  refusal: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  none: null,
};

export const CHAT_WIRE: ModelWire = {
  callIdStart: 'call_',
  read: readChat,
  tooLong: (tokens, tokensMax) =>
    refused(
      `This model's maximum context length is ${tokensMax} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
      'messages',
      'context_length_exceeded',
    ),
  ...OPENAI_ERRORS,
  errorFrame: (error) => `data: ${JSON.stringify({ error: errorFields(error) })}\n\n`,
  frames: framesOf,
  body: (answer) => JSON.stringify(completionOf(answer)),
};

function completionOf(answer: ComposedAnswer): unknown {
  const { blocks } = answer;
  const calls = blocks.flatMap((block) => (block.type === 'tool_use' ? [callOf(block)] : []));
  const reasoning = textOf(blocks, 'thinking');
  const text = blocks.some(({ type }) => type === 'text') ? textOf(blocks, 'text') : null;
  const isRefusal = answer.stopReason === 'refusal';
  const message = {
    role: 'assistant',
    content: isRefusal ? null : text,
    refusal: isRefusal ? text : null,
    annotations: [],
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: finishReasonOf(answer) };
  return { ...headOf(answer, 'chat.completion'), choices: [choice], usage: usageOf(answer) };
}

function framesOf(answer: ComposedAnswer, { body }: Exchange): string[] {
  const options = isRecord(body) && isRecord(body['stream_options']) ? body['stream_options'] : {};
  const hasUsage = options['include_usage'] === true;
  const head = JSON.stringify(headOf(answer, 'chat.completion.chunk')).slice(0, -1);
  const chunk = (choices: string, usage: string) => `data: ${head},"choices":${choices}${usage}}\n\n`;
  const delta = (value: unknown, reason: string | null = null) =>
    chunk(
      `[{"index":0,"delta":${JSON.stringify(value)},"logprobs":null,"finish_reason":${JSON.stringify(reason)}}]`,
      hasUsage ? ',"usage":null' : '',
    );
  const frames = [delta({ role: 'assistant', content: '', refusal: null })];
  if (answer.malformed === 'stream') return [...frames, `data: ${head},"choices":[{"index":0,"del\n\n`];
  for (const part of deltasOf(answer)) frames.push(delta(part));
  const reason = finishReasonOf(answer);
  if (reason !== null) frames.push(delta({}, reason));
  if (hasUsage) frames.push(chunk('[]', `,"usage":${JSON.stringify(usageOf(answer))}`));
  return [...frames, 'data: [DONE]\n\n'];
}

function deltasOf({ blocks, stopReason, malformed }: ComposedAnswer): unknown[] {
  const texts = stopReason === 'refusal' ? 'refusal' : 'content';
  let calls = -1;
  return blocks.flatMap((block): unknown[] => {
    switch (block.type) {
      case 'text':
        return pieces(block.text).map((text) => ({ [texts]: text }));
      case 'thinking':
        return pieces(block.thinking).map((text) => ({ reasoning_content: text }));
      case 'redacted_thinking':
        return [];
      case 'tool_use': {
        const index = (calls += 1);
        const { function: definition, ...call } = callOf(block);
        const json = malformed === 'input' ? `${block.inputJson.slice(0, -1)}, "unfinished": "` : block.inputJson;
        return [
          { tool_calls: [{ index, ...call, function: { ...definition, arguments: '' } }] },
          ...pieces(json).map((part) => ({ tool_calls: [{ index, function: { arguments: part } }] })),
        ];
      }
    }
  });
}

function callOf({ id, name, inputJson }: AnswerBlock & { type: 'tool_use' }) {
  return { id, type: 'function', function: { name, arguments: inputJson } };
}

function textOf(blocks: readonly AnswerBlock[], type: 'text' | 'thinking'): string {
  const texts = blocks.map((block) => {
    if (block.type !== type) return '';
    return block.type === 'text' ? block.text : block.thinking;
  });
  return texts.join('');
}

function finishReasonOf({ stopReason }: ComposedAnswer): string | null {
  return Object.hasOwn(FINISH_REASONS, stopReason) ? (FINISH_REASONS[stopReason] ?? null) : stopReason;
}

function headOf({ id, model }: ComposedAnswer, object: string): Record<string, unknown> {
  const created = Math.floor(Date.now() / 1000);
  return { id, object, created, model, service_tier: 'default', system_fingerprint: null };
}

function usageOf(answer: ComposedAnswer): unknown {
  const { input, cached, output, reasoning } = totalsOf(answer);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
