// Chat completions in OpenAI's form. Each request is an ordinary message, answered by an ordinary
// turn.
import { z } from 'zod';
import { ChatChunks, chatCompletion, type ChatIdentity } from '../rules/chat-objects.ts';
import type { Answer } from '../../../api/answer.ts';
import { answerCallHeaders, atBothPlaces } from '../list-part.ts';
import { answerStreamed, answerWhole, openCall, readEnd, toProblem, type Call, type Printer } from '../answer-call.ts';
import { beginCall, parseConversation } from '../begin-call.ts';
import { OPENAI_FORM, toOpenAiError } from '../error-shape.ts';
import { readChat, type ChatRequest } from '../read-chat.ts';
import { type ANSWERED, defineRoute, type AnyRequest, type Route, type Api } from '../../../api/route.ts';

async function complete(request: AnyRequest, api: Api): Promise<Answer | typeof ANSWERED> {
  const body = readChat(request.body, api.context.config.limits.jsonDepth);
  const conversation = parseConversation(body.messages, 'messages');
  const begun = await api.services.limits.send(request.principal, () =>
    beginCall(api.context, request, { body, conversation }),
  );
  const call = await openCall(api, begun, { isSentWhole: !body.isStreaming });
  if (body.isStreaming) return await answerStreamed(api, request, call, printChunks(api, body, call));
  return await answerWhole(api, request, call, async (end) => {
    const { text, usage } = call.segment;
    return chatCompletion(buildIdentity(call, body), { text, ...(await readEnd(api, call, end)), usage });
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

function printChunks(api: Api, body: ChatRequest, call: Call): Printer {
  const chunks = new ChatChunks(buildIdentity(call, body), body);
  const print = (objects: readonly object[]): string =>
    objects.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
  return {
    text: (text) => print(chunks.text(text)),
    async end(followed, isOpen) {
      if (followed.kind === 'ended' && followed.end.kind !== 'failed') {
        const { calls, finish } = await readEnd(api, call, followed.end);
        return `${print(chunks.end(calls, finish, call.segment.usage))}data: [DONE]\n\n`;
      }
      const problem = toProblem(followed);
      if (!isOpen) throw problem;
      return print([toOpenAiError(problem)]);
    },
  };
}

const createChatCompletion = defineRoute({
  operationId: 'createChatCompletion',
  belongs: 'self',
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
