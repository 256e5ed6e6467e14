// A chat platform of the tests: an HTTP server on loopback that keeps what it was sent, and its
// adapter. The token `asked` makes one that can say what it has been sent, as Slack can.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PlatformError, type OpenPlatform, type OutgoingPart } from '../../../src/features/channels/platform.ts';

export const TEXT_CHARS_MAX = 60;

export interface SentMessage {
  chatId: string;
  threadId?: string;
  markdown: string;
  deliveryId: string;
  fileName?: string;
  atMs: number;
}

interface Answer {
  status: number;
  body?: object;
}

/**
 * How it answers a message: 200 where it says nothing; `cut`: it keeps the message and closes the
 * connection.
 */
type Behaviour = (message: SentMessage) => Answer | 'cut' | undefined | Promise<Answer | undefined>;

export async function startLoopbackPlatform() {
  const kept: SentMessage[] = [];
  const asked: SentMessage[] = [];
  const state: { behave: Behaviour } = { behave: () => undefined };
  const server = createServer((request, response) => {
    void readJson(request).then((body) => receive(request.url ?? '', body, response));
  });
  async function receive(path: string, body: Record<string, string>, response: ServerResponse) {
    if (path === '/find') {
      const place = kept.findIndex(({ deliveryId }) => deliveryId === body.deliveryId);
      response.end(JSON.stringify(place < 0 ? null : { id: String(place + 1) }));
      return;
    }
    const message = { ...body, atMs: performance.now() } as unknown as SentMessage;
    asked.push(message);
    const answer = (await state.behave(message)) ?? { status: 200 };
    if (answer === 'cut' || answer.status === 200) kept.push(message);
    if (answer === 'cut') response.destroy();
    else response.writeHead(answer.status).end(JSON.stringify(answer.body ?? { id: String(kept.length) }));
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The messages that people see, in their order. */
    kept,
    /** Those that were sent, also the refused ones. */
    asked,
    textsIn: (chatId: string) => kept.filter((one) => one.chatId === chatId).map(({ markdown }) => markdown),
    behave(behave: Behaviour) {
      state.behave = behave;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readJson(request: AsyncIterable<Buffer>): Promise<Record<string, string>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, string>;
}

export const openPlatform: OpenPlatform = ({ baseUrl, token }) => {
  async function ask(path: string, body: object, signal: AbortSignal): Promise<{ id: string } | null> {
    let response;
    try {
      response = await fetch(`${baseUrl}${path}`, { method: 'POST', body: JSON.stringify(body), signal });
    } catch (cause) {
      throw new PlatformError('unknown', 'The connection was cut.', { cause });
    }
    const answer = (await response.json()) as { id: string; retryAfterMs?: number; isOfAccount?: boolean } | null;
    if (response.ok) return answer;
    const { status } = response;
    throw new PlatformError(kindOf(status), `HTTP ${status}`, { status, ...answer });
  }
  return {
    name: 'loopback',
    textLimit: { max: TEXT_CHARS_MAX, measure: (text) => text.length },
    identify: async () => ({ id: 'bot', name: 'Bot' }),
    async send(to, { markdown, deliveryId, file }: OutgoingPart, signal) {
      const sent = await ask('/send', { ...to, markdown, deliveryId, fileName: file?.name }, signal);
      return { platformId: sent!.id };
    },
    react: async (to, messageId, emoji, signal) => {
      await ask('/react', { ...to, markdown: `${emoji} on ${messageId}` }, signal);
    },
    ...(token === 'asked' && {
      async findSent(to, deliveryId, signal) {
        const found = await ask('/find', { ...to, deliveryId }, signal);
        return found && { platformId: found.id };
      },
    }),
  };
};

function kindOf(status: number): PlatformError['kind'] {
  if (status === 401) return 'unauthorized';
  return status === 429 || status >= 500 ? 'later' : 'refused';
}
