// Responses in OpenAI's form. They are messages and turns: they continue without the client, and
// can be read again.
import { z } from 'zod';
import { OPENAI_FORM } from '../error-shape.ts';
import { ResponseEvents, responseObject, type ResponseEvent } from '../rules/response-objects.ts';
import type { Answer } from '../../../api/answer.ts';
import {
  answerStreamed,
  answerWhole,
  follow,
  openCall,
  SILENT,
  stopCall,
  toHeaders,
  toProblem,
  type Call,
  type Printer,
} from '../answer-call.ts';
import { beginCall, parseConversation } from '../begin-call.ts';
import { answerCallHeaders, atBothPlaces } from '../list-part.ts';
import { readResponse } from '../read-response.ts';
import {
  buildIdentity,
  conversationTarget,
  findResponsePlace,
  removeResponse,
  findResponse,
  readState,
  responseNow,
  withItems,
} from '../response-call.ts';
import { conflict, fieldProblem } from '../../../api/problem.ts';
import { type ANSWERED, defineEffect, defineRoute, type AnyRequest, type Route, type Api } from '../../../api/route.ts';

const answers = {
  200: {
    description: 'A response; with stream=true, server-sent events',
    schema: z.looseObject({
      id: z.string().describe('The id of the response, in the form of OpenAI'),
      object: z.string().describe('Always `response`'),
    }),
  },
};

async function create(request: AnyRequest, api: Api): Promise<Answer | typeof ANSWERED> {
  const body = readResponse(await withItems(api, request), api.context.config.limits.jsonDepth);
  const conversation = parseConversation(body.messages, 'input');
  const begun = await api.services.limits.send(request.principal, () =>
    beginCall(api.context, request, {
      body,
      conversation,
      target: (keyed) => conversationTarget(api, request, { body, keyed }),
    }),
  );
  const call = await openCall(api, begun, { isSentWhole: !body.isStreaming });
  if (body.isStreaming) return await answerStreamed(api, request, call, printEvents(api, call, -1));
  if (body.isBackground) return { status: 200, body: await responseNow(api, call), headers: toHeaders(call) };
  return await answerWhole(api, request, call, async (end) =>
    responseObject(buildIdentity(call), await readState(api, call, { kind: 'ended', end })),
  );
}

/** Prints the events after one that the client has; -1: all. */
function printEvents(api: Api, call: Call, after: number): Printer {
  const events = new ResponseEvents(buildIdentity(call));
  const print = (all: readonly ResponseEvent[]): string =>
    all
      .filter((event) => event.sequence_number > after)
      .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join('');
  return {
    text: (text) => print(events.text(text)),
    async end(followed) {
      if (followed.kind === 'ended') return print(events.end(await readState(api, call, followed)));
      const { message } = toProblem(followed);
      const error = { type: 'error', code: 'server_error', message, param: null };
      return `${print(events.begin())}event: error\ndata: ${JSON.stringify(error)}\n\n`;
    },
  };
}

const createResponse = defineRoute({
  operationId: 'createResponse',
  belongs: 'self',
  method: 'POST',
  path: '/v1/responses',
  isAudited: false,
  summary:
    'OpenAI-compatible responses: send a message to an agent and receive the answer, streamed, in one object, or in the background',
  isLong: true,
  form: OPENAI_FORM,
  body: z.record(z.string(), z.unknown()),
  headers: answerCallHeaders,
  answers,
  handle: create,
});

const text = z.string().optional();

const getResponse = defineRoute({
  operationId: 'getResponse',
  belongs: findResponsePlace,
  method: 'GET',
  path: '/v1/responses/{responseId}',
  summary: 'A response, or its events from the beginning or after a given event',
  isLong: true,
  form: OPENAI_FORM,
  query: z.looseObject({
    stream: text.describe('`true`: server-sent events instead of one object'),
    starting_after: text.describe('Only events after the one with this `sequence_number`'),
  }),
  answers,
  async handle(request, api) {
    const isStreaming = request.query.stream === 'true' && request.reply.request.method !== 'HEAD';
    const call = await findResponse(api, request.params.responseId, { isSentWhole: !isStreaming });
    if (!isStreaming) return { status: 200, body: await responseNow(api, call), headers: toHeaders(call) };
    const { starting_after: after = '-1' } = request.query;
    if (!/^(?:-1|\d{1,9})$/.test(after))
      throw fieldProblem('starting_after', 'expected the sequence_number of an event');
    return await answerStreamed(api, request, call, printEvents(api, call, Number(after)));
  },
});

const deleteResponse = defineRoute({
  operationId: 'deleteResponse',
  belongs: findResponsePlace,
  method: 'DELETE',
  path: '/v1/responses/{responseId}',
  summary: 'Hide a response; its messages stay in the session',
  form: OPENAI_FORM,
  answers: {
    200: {
      description: 'The response is hidden',
      schema: z.strictObject({
        id: z.string().describe('The id of the deleted response'),
        object: z.string().describe('Always `response`'),
        deleted: z.literal(true).describe('True: the response is hidden from now on'),
      }),
    },
  },
  async handle({ params }, api) {
    await removeResponse(api, params.responseId);
    return { status: 200, body: { id: params.responseId, object: 'response', deleted: true } };
  },
});

const cancelResponse = defineEffect({
  operationId: 'cancelResponse',
  belongs: findResponsePlace,
  path: '/v1/responses/{responseId}/cancel',
  summary: 'Abort the turn of a response',
  isLong: true,
  form: OPENAI_FORM,
  answers,
  async perform(request, api) {
    const call = await findResponse(api, request.params.responseId, { isSentWhole: true });
    const isDone = await stopCall(api.context, call.turn.messageId, request.idempotency);
    if (isDone || (call.turn.status === 'cancelled' && request.idempotency === null)) return;
    throw conflict(
      `The response has ended: its message is ${call.turn.status}. Only a running response can be cancelled.`,
    );
  },
  async answer(_result, request, api) {
    const call = await findResponse(api, request.params.responseId, { isSentWhole: true });
    const followed = await follow(api, request, call, { sink: SILENT, timeoutMs: CANCEL_MS_MAX });
    if (followed.kind !== 'ended') throw toProblem(followed);
    return { status: 200, body: responseObject(buildIdentity(call), await readState(api, call, followed)) };
  },
});

/** A worker notices a stop within a second, and a tool has some time to end. */
const CANCEL_MS_MAX = 30_000;

export const routes: Route[] = atBothPlaces([createResponse, getResponse, deleteResponse, cancelResponse]);
