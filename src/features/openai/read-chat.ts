// The body of a chat completion: every parameter is used, named as ignored, or refused with its
// name.
import { z } from 'zod';
import type { ClientMessage } from './rules/conversation.ts';
import { parseWith } from '../../api/parse-json.ts';
import {
  answerFormat,
  effort,
  namesSent,
  parseArguments,
  parseParts,
  readShared,
  refused,
  SHARED,
  SHARED_IGNORED,
  tokens,
  toStops,
  textOfContent,
  toResponseFormat,
  type ClientRequest,
} from './read-parts.ts';
import { customInput, nameOfCalled, type ClientTools } from './read-tools.ts';

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

/** Without effect in Holdfast. */
const IGNORED = {
  ...SHARED_IGNORED,
  seed: z.int().nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  verbosity: z.string().nullish(),
};

const body = z.strictObject({
  ...SHARED,
  messages: z.array(message).min(1, 'there is no message'),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: tokens,
  max_completion_tokens: tokens,
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  reasoning_effort: effort,
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
  const read = readShared('chat', data, data.reasoning_effort);
  const { stop, ignored } = toStops(data.stop);
  return {
    ...read,
    messages: data.messages.map((one, at) => toMessage(one, `messages[${at}]`, { tools: read.tools, depthMax })),
    sendsUsage: data.stream_options?.include_usage === true,
    maxTokens: data.max_completion_tokens ?? data.max_tokens ?? undefined,
    stop,
    responseFormat: toResponseFormat(data.response_format, 'response_format', 'json_schema'),
    ignored: [...namesSent(IGNORED, data), ...ignored],
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
