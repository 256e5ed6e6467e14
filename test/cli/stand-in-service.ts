// A small HTTP server that answers as the API does, for tests of the command line alone. It holds
// one session whose messages end as their text says: `fail`, `time out`, `wait` (never), `busy`
// (rejected), `again` (settled before the send) and anything else are answered with `you said:
// <text>`.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export const KEY = 'key-of-the-service';
export const TURN_ID = '019a0000-0000-7000-8000-000000000002';
const MESSAGE_ID = '019a0000-0000-7000-8000-000000000001';
const AT = '2026-01-12T20:19:17.000Z';

export interface StandIn {
  url: string;
  /** The requests, in order. */
  requests: { method: string; path: string; headers: IncomingMessage['headers']; body: unknown }[];
  /** Resolves when a request for this path has arrived. */
  seen(path: string): Promise<void>;
  /** Ends every open stream, as a restart of the service does. */
  breakStreams(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts on a free port of loopback. */
export async function startStandIn(): Promise<StandIn> {
  const requests: StandIn['requests'] = [];
  const waiters: { path: string; resolve: () => void }[] = [];
  const streams = new Set<ServerResponse>();
  const state: State = { text: '', streams, isAccepted: Promise.withResolvers<void>() };
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const path = request.url ?? '';
      requests.push({
        method: request.method ?? '',
        path,
        headers: request.headers,
        body: body === '' ? null : JSON.parse(body),
      });
      for (const waiter of waiters) if (path.startsWith(waiter.path)) waiter.resolve();
      if (request.headers.authorization !== `Bearer ${KEY}`) {
        return problem(response, 401, { code: 'unauthorized', detail: 'a key is needed' });
      }
      answer(request, response, { state, body: body === '' ? null : JSON.parse(body) });
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    seen: (path) => {
      if (requests.some((each) => each.path.startsWith(path))) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      waiters.push({ path, resolve });
      return promise;
    },
    breakStreams: () => {
      for (const stream of streams) stream.destroy();
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

interface State {
  text: string;
  streams: Set<ServerResponse>;
  isAccepted: PromiseWithResolvers<void>;
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { state, body }: { state: State; body: unknown },
): void {
  const url = new URL(request.url ?? '', 'http://x');
  const route = `${request.method} ${url.pathname}`;
  if (route === 'GET /v1/sessions') {
    if (url.searchParams.get('limit') === '13')
      return problem(response, 400, {
        code: 'bad_limit',
        detail: 'limit: is unlucky',
        errors: [
          { path: 'limit', message: 'is unlucky' },
          { path: 'cursor', message: 'is unlucky' },
        ],
      });
    return json(response, 200, { items: [session()], nextCursor: 'next-page' });
  }
  if (route === 'GET /v1/sessions/nobody')
    return problem(response, 404, { code: 'not_found', detail: 'there is no session "nobody"' });
  if (route === `GET /v1/batches/${TURN_ID}/results` || route === 'GET /v1/sessions/main/export')
    return void response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end('{"type":"end","lines":1}\n');
  if (route === 'GET /v1/sessions/main') return json(response, 200, session());
  if (route === 'GET /v1/sessions/main/transcript')
    return json(response, 200, { items: transcript(), nextCursor: null });
  if (route === 'POST /v1/sessions/main/abort') return json(response, 200, { aborted: TURN_ID, cancelled: 2 });
  if (route === 'GET /v1/sessions/broken')
    return problem(response, 500, { code: 'internal', detail: 'something broke', requestId: 'request-7' });
  if (route === 'GET /v1/sessions/down')
    return problem(response, 503, { code: 'not_ready', detail: 'the database is away' });
  if (route === 'POST /v1/sessions/main/messages')
    return acceptMessage(request, response, { state, text: (body as { text: string }).text });
  if (route === `GET /v1/messages/${MESSAGE_ID}`) return json(response, 200, message(state.text));
  if (route === 'GET /v1/turns') return json(response, 200, { items: [turn('hello')], nextCursor: null });
  if (route === `GET /v1/turns/${TURN_ID}/entries`)
    return json(response, 200, { items: transcript(), nextCursor: null });
  if (route === `GET /v1/turns/${TURN_ID}`) return json(response, 200, turn(state.text));
  if (route === 'GET /v1/events' || route === `GET /v1/turns/${TURN_ID}/events`)
    return void stream(request, response, state);
  problem(response, 404, { code: 'not_found', detail: `nothing at ${url.pathname}` });
}

function acceptMessage(
  request: IncomingMessage,
  response: ServerResponse,
  { state, text: said }: { state: State; text: string },
): void {
  state.text = said;
  if (said === 'conflict')
    return problem(response, 422, { code: 'idempotency_mismatch', detail: 'the key was used for another body' });
  const wasSettled = said === 'again';
  const waits = (request.headers['prefer'] !== undefined || wasSettled) && said !== 'wait' && said !== 'busy';
  const accepted = {
    message: message('wait'),
    session: session(),
    disposition: said === 'busy' ? 'rejected' : 'queued',
  };
  if (waits) json(response, 200, { message: message(said), turn: turn(said), reply: message(said).reply });
  else json(response, 202, accepted);
  state.isAccepted.resolve();
}

/** Two events and a broken stream, then, for a client that resumes with the right id, the rest. */
async function stream(request: IncomingMessage, response: ServerResponse, state: State): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  state.streams.add(response);
  const send = (id: number, type: string, data: object) => {
    const json = JSON.stringify({ ...data, type, sessionKey: 'agent:main:main', turnId: TURN_ID, at: AT });
    response.write(`id: ${id}\nevent: ${type}\ndata: ${json}\n\n`);
  };
  if (request.url?.startsWith('/v1/events')) await state.isAccepted.promise;
  if (request.headers['last-event-id'] === undefined) {
    response.write('retry: 1000\n\n: hello\n\nid: 0\n\n');
    send(1, 'turn.started', { worker: 'w1', attempt: 1 });
    send(2, 'model.delta', { call: 1, text: 'you ' });
    return void response.end();
  }
  if (request.headers['last-event-id'] !== '2') return void response.end();
  send(3, 'model.delta', { call: 1, text: 'said' });
  send(4, 'model.ended', { call: 1, status: 'ok', stopReason: 'end_turn' });
  if (state.text === 'wait' || state.text === '') state.text = 'hello';
  send(5, 'message.settled', { messageId: MESSAGE_ID, status: 'answered' });
  send(6, 'turn.ended', { status: turn(state.text).status });
}

function message(said: string) {
  const status =
    { wait: 'claimed', fail: 'failed', 'time out': 'failed', abort: 'cancelled', drop: 'dropped', hush: 'silent' }[
      said
    ] ?? 'answered';
  const isOpen = status === 'claimed';
  return {
    id: MESSAGE_ID,
    sessionKey: 'agent:main:main',
    seq: 1,
    kind: 'message',
    text: said,
    status,
    turnId: TURN_ID,
    reply: status === 'answered' ? `you said: ${said}` : null,
    error: ['failed', 'dropped', 'cancelled'].includes(status) ? { code: 'because', message: 'it was told to' } : null,
    receivedAt: AT,
    settledAt: isOpen ? null : AT,
  };
}

function turn(said: string) {
  const status =
    { wait: 'running', '': 'running', fail: 'failed', 'time out': 'timedOut', abort: 'aborted', hush: 'silent' }[
      said
    ] ?? 'completed';
  const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 100, cacheWriteTokens: 0 };
  const isOpen = status === 'running';
  return {
    id: TURN_ID,
    sessionKey: 'agent:main:main',
    kind: 'message',
    lane: 'main',
    status,
    attempt: 2,
    epoch: 7,
    worker: 'w1',
    model: 'anthropic/claude-sonnet-5-5',
    reply: isOpen ? null : `you said: ${said}`,
    error: null,
    usage,
    queuedAt: AT,
    claimedAt: '2026-01-12T20:19:17.100Z',
    startedAt: '2026-01-12T20:19:17.200Z',
    endedAt: isOpen ? null : '2026-01-12T20:19:19.500Z',
    stepCount: 1,
    steps: [
      {
        n: 1,
        calls: [
          {
            n: 1,
            status: 'ok',
            stopReason: 'tool_use',
            key: 'team',
            fallbackReason: null,
            error: null,
            usage,
            startedAt: '2026-01-12T20:19:17.300Z',
            firstChunkAt: null,
            endedAt: '2026-01-12T20:19:18.300Z',
          },
        ],
        tools: [
          {
            callId: 'toolu_1',
            name: 'exec',
            status: 'done',
            isIdempotent: false,
            runs: 1,
            startedAt: '2026-01-12T20:19:18.400Z',
            endedAt: '2026-01-12T20:19:18.900Z',
          },
        ],
      },
    ],
  };
}

function session() {
  return {
    key: 'agent:main:main',
    id: '019a0000-0000-7000-8000-000000000000',
    agentId: 'main',
    kind: 'main',
    status: 'running',
    parentKey: null,
    label: 'A label that takes some room',
    title: 'A label that takes some room',
    failure: null,
    lastWords: 'list the files',
    channel: null,
    queueMode: null,
    model: null,
    thinking: null,
    epoch: 7,
    turnId: TURN_ID,
    waitingMessages: 3,
    systemEvents: 0,
    tokens: { input: 10, output: 5, context: 115 },
    createdAt: AT,
    updatedAt: AT,
  };
}

function transcript() {
  const of = (seq: number, role: string, kind: string, content: object[], words?: string) => ({
    author: { kind: 'person', name: 'Ada' },
    words: null,
    calls: words === undefined ? [] : [{ id: 'toolu_1', words, why: null }],
    id: `e${seq}`,
    seq,
    parentId: null,
    kind,
    role,
    content,
    turnId: TURN_ID,
    state: 'active',
    createdAt: AT,
  });
  return [
    of(1, 'user', 'prompt', [{ type: 'text', text: 'list the files' }]),
    of(2, 'assistant', 'answer', [{ type: 'tool_use', id: 'toolu_1', name: 'exec', input: { command: 'ls' } }], 'ls'),
    of(
      3,
      'user',
      'results',
      [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'a.txt', is_error: false }],
      'a.txt',
    ),
  ];
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function problem(
  response: ServerResponse,
  status: number,
  body: { code: string; detail: string; errors?: object[]; requestId?: string },
): void {
  response
    .writeHead(status, { 'content-type': 'application/problem+json' })
    .end(JSON.stringify({ type: 'about:blank', title: body.code, status, instance: '/', ...body }));
}
