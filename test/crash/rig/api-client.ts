// A client of the API: it posts messages with idempotency keys and reads their status.

import type { KeyedAnswer } from './keyed-ground.ts';

export interface ApiAnswer {
  status: number;
  body: unknown;
}

export interface AcceptedMessage {
  id: string;
  seq: number;
  status: string;
  reply: string | null;
  error: unknown;
  /** Why it waits; null: a worker runs its turn, or it is settled. */
  why: { code: string } | null;
}

export interface TranscriptEntry {
  seq: number;
  kind: string;
  role: string;
  content: { type: string; text?: string; id?: string; tool_use_id?: string; is_error?: boolean; content?: unknown }[];
}

export interface ApiClient {
  /** Posts once. Rejects when there is no answer. */
  post(session: string, text: string, idempotencyKey: string, more?: object): Promise<ApiAnswer>;
  /** Posts, with further fields of the message, and expects 202; returns the message. */
  send(session: string, text: string, more?: object): Promise<AcceptedMessage>;
  /** Posts a body to any route, once. Rejects when there is no answer. */
  ask(path: string, body: object, idempotencyKey?: string): Promise<KeyedAnswer>;
  message(id: string): Promise<AcceptedMessage>;
  /** All entries of the session, oldest first. */
  transcript(session: string): Promise<TranscriptEntry[]>;
}

/**
 * Makes a client; `urlOf` is called for each request, because the process may have been restarted
 * on another port.
 */
export function openApi(urlOf: () => string, apiKey: string): ApiClient {
  async function ask(
    path: string,
    init: { method?: string; body?: string; headers?: Record<string, string> } = {},
  ): Promise<ApiAnswer & KeyedAnswer> {
    const answer = await fetch(urlOf() + path, {
      ...init,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...init.headers },
      signal: AbortSignal.timeout(120_000),
    });
    const isReplay = answer.headers.get('idempotent-replayed') === 'true';
    return { status: answer.status, isReplay, body: await answer.json() };
  }
  async function expectStatus(status: number, asked: Promise<ApiAnswer>): Promise<unknown> {
    const answer = await asked;
    if (answer.status !== status)
      throw new Error(`expected ${status}, got ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
  const post = (session: string, text: string, idempotencyKey: string, more: object = {}): Promise<ApiAnswer> =>
    ask(`/v1/sessions/${session}/messages`, {
      method: 'POST',
      body: JSON.stringify({ text, ...more }),
      headers: { 'idempotency-key': idempotencyKey },
    });
  return {
    post,
    async send(session, text, more) {
      const body = await expectStatus(202, post(session, text, crypto.randomUUID(), more));
      return (body as { message: AcceptedMessage }).message;
    },
    ask: (path, body, idempotencyKey) =>
      ask(path, {
        method: 'POST',
        body: JSON.stringify(body),
        ...(idempotencyKey === undefined ? {} : { headers: { 'idempotency-key': idempotencyKey } }),
      }),
    message: async (id) => (await expectStatus(200, ask(`/v1/messages/${id}`))) as AcceptedMessage,
    async transcript(session) {
      const entries: TranscriptEntry[] = [];
      let cursor: string | null = null;
      do {
        const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const page = (await expectStatus(
          200,
          ask(`/v1/sessions/${session}/transcript?state=all&limit=100${query}`),
        )) as { items: TranscriptEntry[]; nextCursor: string | null };
        entries.push(...page.items);
        cursor = page.nextCursor;
      } while (cursor !== null);
      return entries;
    },
  };
}
