// The body of a chat completion: every parameter is used, named as ignored, or refused with its
// name.
import { z } from 'zod';
import type { ResponseFormat } from '../../core/response-format.ts';
import type { ClientMessage } from './rules/conversation.ts';
import { parseWith } from '../../api/parse-json.ts';
import { clientMetadata } from '../../contract/input-options.ts';
import {
  answerFormat,
  parseArguments,
  parseParts,
  refused,
  toStops,
  textOfContent,
  THINKING,
  toResponseFormat,
} from './read-parts.ts';
import { clientToolChoice, clientTools, customInput, nameOfCalled, readTools, type ClientTools } from './read-tools.ts';

/** A request of a client, from either of OpenAI's forms. */
export interface ClientRequest {
  model: string;
  messages: ClientMessage[];
  isStreaming: boolean;
  tools: ClientTools;
  isParallel: boolean;
  thinking: (typeof THINKING)[keyof typeof THINKING] | undefined;
  maxTokens: number | undefined;
  temperature: number | undefined;
  topP: number | undefined;
  stop: string[] | undefined;
  user: string | undefined;
  metadata: Record<string, string> | undefined;
  responseFormat: ResponseFormat | undefined;
  /** The fields of the request that the answer repeats. */
  asked?: Record<string, unknown>;
  /** Parameters without effect. */
  ignored: string[];
}

export interface ChatRequest extends ClientRequest {
  sendsUsage: boolean;
}

const text = z.union([z.string(), z.array(z.looseObject({ type: z.literal('text'), text: z.string() }))], {
  error: 'expected a text, or a list of parts {type: "text", text}',
});
const spoken = z.union(
  [
    z.string(),
    z.array(
      z.union([
        z.looseObject({ type: z.literal('text'), text: z.string() }),
        z.looseObject({ type: z.literal('refusal'), refusal: z.string() }),
      ]),
    ),
    z.null(),
  ],
  { error: 'expected a text, or a list of parts {type: "text", text} or {type: "refusal", refusal}' },
);
const id = z.string().min(1).max(200);
const calls = z.array(
  z.discriminatedUnion('type', [
    z.looseObject({
      id,
      type: z.literal('function'),
      function: z.looseObject({ name: z.string().min(1), arguments: z.string() }),
    }),
    z.looseObject({
      id,
      type: z.literal('custom'),
      custom: z.looseObject({ name: z.string().min(1), input: z.string() }),
    }),
  ]),
);
const message = z.discriminatedUnion(
  'role',
  [
    z.looseObject({ role: z.literal('system'), content: text }),
    z.looseObject({ role: z.literal('developer'), content: text }),
    z.looseObject({
      role: z.literal('user'),
      content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
    }),
    z.looseObject({
      role: z.literal('assistant'),
      content: spoken.optional(),
      refusal: z.string().nullish(),
      tool_calls: calls.nullish(),
    }),
    z.looseObject({ role: z.literal('tool'), content: text, tool_call_id: z.string().min(1) }),
  ],
  { error: 'expected the role system, developer, user, assistant or tool' },
);

const TOKENS_MAX = 1_000_000;
const tokens = z.int().min(1).max(TOKENS_MAX).nullish();

/** Without effect in Holdfast. */
const IGNORED = {
  seed: z.int().nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  store: z.boolean().nullish(),
  service_tier: z.string().nullish(),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  verbosity: z.string().nullish(),
  top_logprobs: z.int().nullish(),
};

const body = z.strictObject({
  model: z.string().min(1),
  messages: z.array(message).min(1, 'there is no message'),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: tokens,
  max_completion_tokens: tokens,
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  reasoning_effort: z.enum(Object.keys(THINKING) as [keyof typeof THINKING]).nullish(),
  tools: clientTools,
  tool_choice: clientToolChoice,
  parallel_tool_calls: z.boolean().nullish(),
  user: z.string().min(1).max(1000).nullish(),
  metadata: clientMetadata,
  n: z.literal(1, { error: 'only 1 is supported: a session has one answer' }).nullish(),
  response_format: answerFormat,
  modalities: z.array(z.literal('text', { error: 'only text is supported' })).nullish(),
  logprobs: z.literal(false, { error: 'is not supported: models do not tell' }).nullish(),
  audio: refused('audio is not supported'),
  prediction: refused('is not supported'),
  functions: refused('is not supported; use tools'),
  function_call: refused('is not supported; use tool_choice'),
  web_search_options: refused('is not supported; the agent has a tool of its own for the web'),
  ...IGNORED,
});

/**
 * Reads the body; the arguments of its calls are nested `depthMax` levels at most. Throws `Problem`
 * with the parameter that does not fit.
 */
export function readChat(raw: unknown, depthMax: number): ChatRequest {
  const data = parseWith(body, raw, 'invalid_body');
  const tools = readTools('chat', data.tools, data.tool_choice);
  const { stop, ignored } = toStops(data.stop);
  return {
    model: data.model,
    messages: data.messages.map((one, at) => toMessage(one, `messages[${at}]`, { tools, depthMax })),
    isStreaming: data.stream === true,
    sendsUsage: data.stream_options?.include_usage === true,
    tools,
    isParallel: data.parallel_tool_calls !== false,
    thinking: data.reasoning_effort ? THINKING[data.reasoning_effort] : undefined,
    maxTokens: data.max_completion_tokens ?? data.max_tokens ?? undefined,
    temperature: data.temperature ?? undefined,
    topP: data.top_p ?? undefined,
    stop,
    user: data.user ?? undefined,
    metadata: data.metadata ?? undefined,
    responseFormat: toResponseFormat(data.response_format, 'response_format', 'json_schema'),
    ignored: [
      ...Object.keys(IGNORED).filter((name) => (data[name as keyof typeof IGNORED] ?? null) !== null),
      ...ignored,
    ],
  };
}

function toMessage(
  one: z.output<typeof message>,
  path: string,
  { tools: { tools }, depthMax }: { tools: ClientTools; depthMax: number },
): ClientMessage {
  switch (one.role) {
    case 'system':
    case 'developer':
      return { role: 'system', text: textOfContent(one.content) };
    case 'user':
      return { role: 'user', parts: parseParts(one.content, `${path}.content`) };
    case 'tool':
      return { role: 'tool', callId: one.tool_call_id, content: textOfContent(one.content) };
    case 'assistant':
      return {
        role: 'assistant',
        text: textOfContent(one.content ?? one.refusal ?? ''),
        calls: (one.tool_calls ?? []).map((call, at) =>
          call.type === 'custom'
            ? { id: call.id, name: nameOfCalled(tools, call.custom), input: customInput(call.custom.input) }
            : {
                id: call.id,
                name: nameOfCalled(tools, call.function),
                input: parseArguments(
                  call.function.arguments,
                  `${path}.tool_calls[${at}].function.arguments`,
                  depthMax,
                ),
              },
        ),
      };
  }
}
