// A model server of another API: it keeps what it receives and answers as a test says, in the
// streams of Responses, Chat Completions and Gemini.
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  path: string;
  headers: http.IncomingHttpHeaders;
  /** The bytes as text. */
  text: string;
  body: Record<string, unknown>;
}

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  /** The body, or the events of a stream. */
  body: string | object[];
  /** What follows them; absent: the end of the answer. */
  ending?: 'cut' | 'silence';
}

export interface ProviderServer {
  url: string;
  received: Received[];
  /** What the next requests are answered with, in order; the last one stays. */
  replies: Reply[];
  /** Answers each request by what is in it, in place of `replies`; null: it does not. */
  answer: ((body: Received['body']) => Reply) | null;
  close(): Promise<void>;
}

export async function startProviderServer(): Promise<ProviderServer> {
  const received: Received[] = [];
  const provider: ProviderServer = { url: '', received, replies: [], answer: null, close: async () => undefined };
  const server = http.createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => void chunks.push(chunk));
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const body = JSON.parse(text === '' ? '{}' : text) as Record<string, unknown>;
      received.push({ path: incoming.url ?? '', headers: incoming.headers, text, body });
      const next = () => (provider.replies.length > 1 ? provider.replies.shift() : provider.replies[0]);
      const reply = provider.answer === null ? next() : provider.answer(body);
      answer(response, reply ?? { status: 500, body: 'no reply' });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  provider.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  provider.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return provider;
}

function answer(response: http.ServerResponse, { status = 200, headers, body, ending }: Reply): void {
  const isStream = typeof body !== 'string';
  const type = isStream ? 'text/event-stream' : 'application/json';
  response.writeHead(status, { 'content-type': type, ...headers });
  const text = isStream ? body.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') : body;
  if (ending === undefined) return void response.end(text);
  response.write(text, () => (ending === 'cut' ? response.destroy() : undefined));
}

const IDS = { id: 'answer_1', created: 1, created_at: 1 };

export interface Says {
  thought?: string;
  text?: string;
  /** A call of `read` under this id. */
  call?: string;
  model?: string;
  /** The tokens of its prompt; absent: 20,000. */
  usage?: number;
}

/** An answer of OpenAI's Responses. */
export function ofResponses({ thought, text, call, model = 'gpt-5' }: Says): Reply {
  const base = { ...IDS, object: 'response', model };
  const items = [
    ...(thought === undefined
      ? []
      : [
          {
            type: 'reasoning' as const,
            id: 'rs_1',
            status: 'completed',
            summary: [{ type: 'summary_text', text: thought }],
            encrypted_content: 'SEALED',
          },
        ]),
    ...(text === undefined
      ? []
      : [
          {
            type: 'message' as const,
            id: 'msg_1',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ]),
    ...(call === undefined
      ? []
      : [
          {
            type: 'function_call' as const,
            id: 'fc_1',
            call_id: call,
            name: 'read',
            arguments: '{"path":"a"}',
            status: 'completed',
          },
        ]),
  ];
  const events = items.flatMap((item, output_index) => {
    const { encrypted_content: _sealed, ...open } = { encrypted_content: null, ...item };
    const empty = { reasoning: { summary: [] }, message: { content: [] }, function_call: { arguments: '' } }[item.type];
    const begun = { ...open, ...empty, status: 'in_progress' };
    return [
      { type: 'response.output_item.added', output_index, item: begun },
      ...(item.type === 'reasoning'
        ? [
            {
              type: 'response.reasoning_summary_text.delta',
              item_id: item.id,
              output_index,
              summary_index: 0,
              delta: thought,
            },
          ]
        : []),
      ...(item.type === 'message'
        ? [{ type: 'response.output_text.delta', item_id: item.id, output_index, content_index: 0, delta: text }]
        : []),
      ...('arguments' in item
        ? [{ type: 'response.function_call_arguments.delta', item_id: item.id, output_index, delta: item.arguments }]
        : []),
      { type: 'response.output_item.done', output_index, item },
    ];
  });
  const usage = {
    input_tokens: 20_000,
    input_tokens_details: { cached_tokens: 12_000 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 5 },
  };
  return {
    body: [
      { type: 'response.created', response: { ...base, status: 'in_progress', output: [], usage: null } },
      ...events,
      { type: 'response.completed', response: { ...base, status: 'completed', output: items, usage } },
    ],
  };
}

/** An answer of Chat Completions. */
export function ofChat({ thought, text, call, model = 'local', usage = 20_000 }: Says): Reply {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...IDS,
    object: 'chat.completion.chunk',
    model,
    choices: [{ index: 0, delta, finish_reason }],
  });
  const calls = [{ index: 0, id: call, type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } }];
  return {
    body: [
      ...(thought === undefined ? [] : [chunk({ role: 'assistant', reasoning_content: thought })]),
      ...(text === undefined ? [] : [chunk({ role: 'assistant', content: text })]),
      ...(call === undefined ? [] : [chunk({ role: 'assistant', tool_calls: calls })]),
      chunk({}, call === undefined ? 'stop' : 'tool_calls'),
      {
        ...IDS,
        object: 'chat.completion.chunk',
        model,
        choices: [],
        usage: {
          prompt_tokens: usage,
          completion_tokens: 20,
          prompt_tokens_details: { cached_tokens: Math.floor(usage * 0.6) },
        },
      },
    ],
  };
}

/** An answer of Gemini. */
export function ofGemini({ thought, text, call, model = 'gemini-3-pro' }: Says): Reply {
  const parts = [
    ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...(call === undefined
      ? []
      : [{ functionCall: { id: call, name: 'read', args: { path: 'a' } }, thoughtSignature: 'U0lH' }]),
  ];
  const usageMetadata = {
    promptTokenCount: 20_000,
    cachedContentTokenCount: 12_000,
    candidatesTokenCount: 15,
    thoughtsTokenCount: 5,
    totalTokenCount: 20_020,
  };
  const chunkOf = (part: object) => ({
    responseId: 'answer_1',
    modelVersion: model,
    candidates: [{ index: 0, content: { role: 'model', parts: [part] } }],
  });
  return {
    body: [
      ...parts.map(chunkOf),
      {
        responseId: 'answer_1',
        candidates: [{ index: 0, content: { role: 'model', parts: [] }, finishReason: 'STOP' }],
        usageMetadata,
      },
    ],
  };
}
