// Chat completions in OpenAI's form. Each request is an ordinary message, answered by an ordinary
// turn.
import { z } from 'zod';
import {
  ChatChunks,
  chatCompletion,
  toFinishReason,
  type ChatIdentity,
  type ChatToolCall,
  type FinishReason,
} from '../rules/chat-objects.ts';
import type { SegmentEnd } from '../rules/segment.ts';
import type { Answer } from '../../../api/answer.ts';
import { answerCallHeaders, atBothPlaces } from '../list-part.ts';
import { answerWhole, calledTools, follow, toHeaders, openCall, toProblem, type Call } from '../answer-call.ts';
import { beginCall, parseConversation } from '../begin-call.ts';
import { OPENAI_FORM, toOpenAiError } from '../error-shape.ts';
import { readChat, type ChatRequest } from '../read-chat.ts';
import { abandon, sseSink } from '../sse.ts';
import { ANSWERED, defineRoute, type AnyRequest, type Route, type Api } from '../../../api/route.ts';

async function complete(request: AnyRequest, api: Api): Promise<Answer | typeof ANSWERED> {
  const body = readChat(request.body, api.context.config.limits.jsonDepth);
  const conversation = parseConversation(body.messages, 'messages');
  const begun = await beginCall(api.context, request, { body, conversation });
  const call = await openCall(api, begun, { isSentWhole: !body.isStreaming });
  if (body.isStreaming) return await stream(request, api, { body, call });
  return await answerWhole(api, request, call, async (end) => {
    const { text, usage } = call.segment;
    return chatCompletion(buildIdentity(call, body), { text, ...(await buildEnd(api, call, end)), usage });
  });
}

function buildIdentity({ turn, begun }: Call, { model }: ChatRequest): ChatIdentity {
  const suffix = begun.afterStep === 0 ? '' : `-${begun.afterStep}`;
  return {
    id: `chatcmpl-${turn.messageId.replaceAll('-', '')}${suffix}`,
    created: Math.floor(turn.receivedAt / 1000),
    model,
  };
}

async function buildEnd(
  { context }: Api,
  { turn }: Call,
  end: Exclude<SegmentEnd, { kind: 'failed' }>,
): Promise<{ calls: ChatToolCall[]; finish: FinishReason }> {
  if (end.kind === 'answered') return { calls: [], finish: toFinishReason(end.stopReason) };
  return { calls: await calledTools(context, turn, end.calls), finish: 'tool_calls' };
}

async function stream(
  request: AnyRequest,
  api: Api,
  { body, call }: { body: ChatRequest; call: Call },
): Promise<typeof ANSWERED> {
  const chunks = new ChatChunks(buildIdentity(call, body), body);
  const sse = sseSink(request, () => toHeaders(call));
  const send = (objects: readonly object[]): void =>
    sse.write(objects.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(''));
  const sink = { text: (text: string) => send(chunks.text(text)), cut: () => undefined, beat: () => sse.beat() };
  const followed = await follow(api, request, call, { sink, timeoutMs: null });
  if (followed.kind === 'ended' && followed.end.kind !== 'failed') {
    const { calls, finish } = await buildEnd(api, call, followed.end);
    send(chunks.end(calls, finish, call.segment.usage));
    sse.end('data: [DONE]\n\n');
    return ANSWERED;
  }
  if (followed.kind === 'gone') return abandon(request);
  const problem = toProblem(followed);
  // Before the first byte it is an answer with a status.
  if (!sse.isOpen) {
    request.reply.headers(toHeaders(call));
    throw problem;
  }
  sse.end(`data: ${JSON.stringify(toOpenAiError(problem))}\n\n`);
  return ANSWERED;
}

const createChatCompletion = defineRoute({
  operationId: 'createChatCompletion',
  method: 'POST',
  path: '/v1/chat/completions',
  isAudited: false,
  summary:
    'OpenAI-compatible chat completions: send a message to an agent and receive the answer, streamed or in one object',
  isLong: true,
  form: OPENAI_FORM,
  body: z.record(z.string(), z.unknown()),
  headers: answerCallHeaders,
  answers: {
    200: {
      description: 'A chat.completion; with stream: true, server-sent events, each with a chat.completion.chunk',
      schema: z.looseObject({
        id: z.string().describe('The id of the completion, in the form of OpenAI'),
        object: z.string().describe('Always `chat.completion`'),
      }),
    },
  },
  handle: complete,
});

export const routes: Route[] = atBothPlaces([createChatCompletion]);
