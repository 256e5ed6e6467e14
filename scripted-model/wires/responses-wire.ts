// Responses, as OpenAI writes answers with `store: false`. Thinking is a reasoning item: its
// summary is shown if the request asks for one, and its encrypted content, which has to come back
// unchanged, if the request includes it.
import { SCRIPTED_ID_START } from '../../src/core/models.ts';
import type { ComposedAnswer } from '../compose-answer.ts';
import { pieces } from '../stream-answer.ts';
import { isRecord } from '../wire.ts';
import type { Exchange, ModelWire } from './model-wire.ts';
import { totalsOf } from './model-wire.ts';
import { errorFields, OPENAI_ERRORS, refused } from './openai-errors.ts';
import { readResponses } from './read-responses.ts';
import { sealReasoning } from './sealed-reasoning.ts';

/** Why an answer is incomplete; other reasons of the script are sent as they are. */
const INCOMPLETE: Readonly<Record<string, string | null>> = {
  end_turn: null,
  tool_use: null,
  stop_sequence: null,
  refusal: null,
  none: null,
  max_tokens: 'max_output_tokens',
  model_context_window_exceeded: 'max_output_tokens',
};

export const RESPONSES_WIRE: ModelWire = {
  callIdStart: 'call_',
  read: readResponses,
  tooLong: () =>
    refused(
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
      'input',
      'context_length_exceeded',
    ),
  ...OPENAI_ERRORS,
  errorFrame: (error, { answer, index }) => {
    const { code, message, param } = errorFields(error);
    const failed = { ...responseOf(answer, {}), status: 'failed', error: { code: code ?? 'server_error', message } };
    const frames = [
      { type: 'error', code, message, param },
      { type: 'response.failed', response: failed },
    ];
    return frames.map((frame, place) => frameOf(frame, index + place)).join('');
  },
  frames: framesOf,
  body: (answer, exchange) => {
    const output = itemsOf(answer, exchange).map(({ item }) => item);
    return JSON.stringify({ ...endOf(answer, exchange.body), output });
  },
};

type Item = Record<string, unknown>;

/** An item, and the events of its content. */
interface WrittenItem {
  item: Item;
  /** The item before its content has come. */
  beginning: Item;
  events: Record<string, unknown>[];
}

function framesOf(answer: ComposedAnswer, exchange: Exchange): string[] {
  const response = responseOf(answer, exchange.body);
  const events: Record<string, unknown>[] = [
    { type: 'response.created', response },
    { type: 'response.in_progress', response },
  ];
  if (answer.malformed === 'stream') {
    return [...events.map(frameOf), 'event: response.output_text.delta\ndata: {"type":"response.output_te\n\n'];
  }
  const items = itemsOf(answer, exchange);
  for (const [index, { item, beginning, events: inner }] of items.entries()) {
    events.push({ type: 'response.output_item.added', output_index: index, item: beginning });
    for (const event of inner) events.push({ ...event, item_id: item['id'], output_index: index });
    events.push({ type: 'response.output_item.done', output_index: index, item });
  }
  if (answer.stopReason === 'none') return events.map(frameOf);
  const end = { ...endOf(answer, exchange.body), output: items.map(({ item }) => item) };
  events.push({ type: `response.${end.status}`, response: end });
  return events.map(frameOf);
}

function frameOf(event: Record<string, unknown>, index: number): string {
  const { type, ...rest } = event;
  return `event: ${String(type)}\ndata: ${JSON.stringify({ type, sequence_number: index, ...rest })}\n\n`;
}

function itemsOf(answer: ComposedAnswer, { body, organisation }: Exchange): WrittenItem[] {
  const { blocks, model } = answer;
  const suffix = answer.id.slice(SCRIPTED_ID_START.length);
  const request = isRecord(body) ? body : {};
  const isSummarised = isRecord(request['reasoning']) && Boolean(request['reasoning']['summary']);
  const isSealed = Array.isArray(request['include']) && request['include'].includes('reasoning.encrypted_content');
  const items: WrittenItem[] = [];
  // Thinking in a row is one item. The id of the item after it names it, so that neither comes back
  // without the other.
  let thoughts: string[] | null = null;
  for (const [index, block] of [...blocks.entries(), [blocks.length, null] as const]) {
    if (block?.type === 'thinking' || block?.type === 'redacted_thinking') {
      thoughts ??= [];
      if (isSummarised && block.type === 'thinking') thoughts.push(block.thinking);
      continue;
    }
    const place = `${thoughts === null ? '' : 'r'}${suffix}${index}`;
    if (thoughts !== null) {
      const id = `rs_${suffix}${index}`;
      const next = block?.type === 'tool_use' ? block.id : block && `msg_${place}`;
      const sealed = sealReasoning({ model, organisation, id, next: next ?? '' });
      items.push(reasoningItem(id, thoughts, isSealed ? { encrypted_content: sealed } : {}));
    }
    thoughts = null;
    if (block?.type === 'text') items.push(messageItem(`msg_${place}`, block.text, answer));
    if (block?.type === 'tool_use') items.push(callItem(`fc_${place}`, block, answer));
  }
  return items;
}

function messageItem(id: string, text: string, { stopReason }: ComposedAnswer): WrittenItem {
  const isRefusal = stopReason === 'refusal';
  const name = isRefusal ? 'refusal' : 'text';
  const type = isRefusal ? 'refusal' : 'output_text';
  const more = isRefusal ? {} : { annotations: [], logprobs: [] };
  const logprobs = isRefusal ? {} : { logprobs: [] };
  const item = { id, type: 'message', status: statusOf(stopReason), role: 'assistant' };
  const part = (value: string) => ({ type, [name]: value, ...more });
  return {
    item: { ...item, content: [part(text)] },
    beginning: { ...item, status: 'in_progress', content: [] },
    events: [
      { type: 'response.content_part.added', content_index: 0, part: part('') },
      ...pieces(text).map((delta) => ({ type: `response.${type}.delta`, content_index: 0, delta, ...logprobs })),
      { type: `response.${type}.done`, content_index: 0, [name]: text, ...logprobs },
      { type: 'response.content_part.done', content_index: 0, part: part(text) },
    ],
  };
}

function callItem(
  id: string,
  call: { id: string; name: string; inputJson: string },
  { stopReason, malformed }: ComposedAnswer,
): WrittenItem {
  const text = malformed === 'input' ? `${call.inputJson.slice(0, -1)}, "unfinished": "` : call.inputJson;
  const item = { id, type: 'function_call', status: statusOf(stopReason), call_id: call.id, name: call.name };
  return {
    item: { ...item, arguments: text },
    beginning: { ...item, status: 'in_progress', arguments: '' },
    events: [
      ...pieces(text).map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
      { type: 'response.function_call_arguments.done', name: call.name, arguments: text },
    ],
  };
}

function reasoningItem(id: string, texts: readonly string[], sealed: { encrypted_content?: string }): WrittenItem {
  const item = { id, type: 'reasoning', status: 'completed', ...sealed };
  const part = (text: string) => ({ type: 'summary_text', text });
  const events = texts.flatMap((text, index) => {
    const summary = { summary_index: index };
    return [
      { type: 'response.reasoning_summary_part.added', ...summary, part: part('') },
      ...pieces(text).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...summary, delta })),
      { type: 'response.reasoning_summary_text.done', ...summary, text },
      { type: 'response.reasoning_summary_part.done', ...summary, part: part(text) },
    ];
  });
  return { item: { ...item, summary: texts.map(part) }, beginning: { ...item, summary: [] }, events };
}

function reasonOf(stopReason: string): string | null {
  return Object.hasOwn(INCOMPLETE, stopReason) ? (INCOMPLETE[stopReason] ?? null) : stopReason;
}

function statusOf(stopReason: string): 'completed' | 'incomplete' {
  return reasonOf(stopReason) === null ? 'completed' : 'incomplete';
}

/** The response at its beginning. */
function responseOf({ id, model }: ComposedAnswer, body: unknown) {
  const request = isRecord(body) ? body : {};
  return {
    id,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null as { reason: string } | null,
    instructions: null,
    max_output_tokens: request['max_output_tokens'] ?? null,
    model,
    output: [] as Item[],
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: request['prompt_cache_key'] ?? null,
    reasoning: request['reasoning'] ?? { effort: null, summary: null },
    service_tier: 'default',
    store: request['store'] ?? true,
    temperature: 1,
    text: request['text'] ?? { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: null as unknown,
    user: null,
    metadata: {},
  };
}

/** The response at its end, besides its output. */
function endOf(answer: ComposedAnswer, body: unknown) {
  const { input, cached, output, reasoning } = totalsOf(answer);
  const reason = reasonOf(answer.stopReason);
  return {
    ...responseOf(answer, body),
    status: statusOf(answer.stopReason),
    incomplete_details: reason === null ? null : { reason },
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    },
  };
}
