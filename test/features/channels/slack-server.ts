// The wire of Slack on loopback, as far as the tests of its adapter need it: methods of the Web
// API, and a socket.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { WebSocketServer, type WebSocket } from 'ws';

export const SCOPES = [
  'chat:write,app_mentions:read,im:history,channels:history,groups:history,im:read,channels:read,groups:read,mpim:history,mpim:read',
  'reactions:read,reactions:write,files:read,files:write',
].join(',');

/** What Slack recommends as a page. */
const PAGE_MAX = 200;

type Fields = Record<string, unknown>;
/**
 * Answers a method; `answer` can be used for what is no ordinary answer, and then nothing is
 * returned.
 */
type Method = (fields: Fields, answer: ServerResponse) => Fields | void;

export interface SlackServer {
  baseUrl: string;
  /** What was asked, in its order. */
  calls: { method: string; fields: Fields; token: string }[];
  /** The methods, which a test may replace. */
  methods: Record<string, Method>;
  /** The messages of all chats, oldest first. */
  messages: Fields[];
  /** Acknowledged envelopes. */
  acks: string[];
  /** Sends an envelope over the open socket. */
  push: (envelope: Fields) => void;
  /** Resolves with the next socket that is open. */
  nextSocket: () => Promise<WebSocket>;
  close: () => Promise<void>;
}

export async function startSlackServer(): Promise<SlackServer> {
  const calls: SlackServer['calls'] = [];
  const messages: Fields[] = [];
  const acks: string[] = [];
  const sockets = new WebSocketServer({ noServer: true });
  let open: WebSocket | undefined;
  let count = 0;
  const ofChat = ({ channel, oldest = '0' }: Fields) =>
    messages.filter((message) => message['channel'] === channel && String(message['ts']) > String(oldest));
  const methods: Record<string, Method> = {
    'auth.test': () => ({ user_id: 'UBOT', user: 'holdfast', team_id: 'T1' }),
    'apps.connections.open': () => ({ url: `ws://127.0.0.1:${port()}/socket` }),
    'chat.postMessage'(fields) {
      const ts = `${1_800_000_000 + (count += 1)}.000100`;
      messages.push({ ...fields, ts, user: 'UBOT', bot_id: 'B1', metadata: JSON.parse(String(fields['metadata'])) });
      return { ts, channel: fields['channel'] };
    },
    'conversations.history': (fields) =>
      pageOf(
        fields,
        ofChat(fields)
          .filter(({ thread_ts: at, ts }) => at === undefined || at === ts)
          .toReversed(),
      ),
    'conversations.replies': (fields) =>
      pageOf(
        fields,
        ofChat(fields).filter(({ thread_ts: at, ts }) => [at, ts].includes(fields['ts'])),
      ),
    'users.conversations': () => ({ channels: [{ id: 'D1' }, { id: 'C1' }] }),
    'reactions.add': () => ({}),
  };
  async function serve(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const method = (request.url ?? '').replace('/api/', '');
    const body = await text(request);
    const fields = Object.fromEntries(new URLSearchParams(body));
    calls.push({ method, fields, token: String(request.headers.authorization) });
    const made = methods[method]?.(fields, answer);
    if (answer.destroyed || answer.writableEnded) return;
    answer.writeHead(200, { 'content-type': 'application/json', 'x-oauth-scopes': SCOPES });
    answer.end(JSON.stringify(made === undefined ? { ok: false, error: 'unknown_method' } : { ok: true, ...made }));
  }
  const server = createServer((request, answer) => void serve(request, answer));
  server.on('upgrade', (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (connected) => {
      open = connected;
      connected.on('message', (data: Buffer) =>
        acks.push((JSON.parse(data.toString()) as { envelope_id: string }).envelope_id),
      );
      connected.send(JSON.stringify({ type: 'hello', num_connections: 1 }));
      sockets.emit('connection', connected, request);
    }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = () => (server.address() as AddressInfo).port;
  return {
    baseUrl: `http://127.0.0.1:${port()}`,
    calls,
    methods,
    messages,
    acks,
    push: (envelope) => open?.send(JSON.stringify(envelope)),
    nextSocket: async () => ((await once(sockets, 'connection')) as [WebSocket])[0],
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function pageOf({ limit = '100', cursor = '0' }: Fields, messages: Fields[]): Fields {
  const from = Number(cursor);
  const to = from + Math.min(Number(limit), PAGE_MAX);
  const next = to < messages.length ? String(to) : '';
  return { messages: messages.slice(from, to), response_metadata: { next_cursor: next } };
}
