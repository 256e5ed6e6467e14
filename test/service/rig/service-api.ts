// The API as its clients use it, over real HTTP. The whole answer is returned, whatever its status:
// the tests judge it.
import { randomUUID } from 'node:crypto';
import { waitUntil } from '../../crash/rig/wait-until.ts';

export interface ServiceAnswer {
  status: number;
  headers: Headers;
  // Tests look into answers of every shape.
  body: any; // oxlint-disable-line typescript/no-explicit-any
}

export interface Message {
  id: string;
  status: string;
  turnId: string | null;
  reply: string | null;
  error: { code: string; message: string } | null;
}

export interface ServiceApi {
  /** Rejects when there is no answer. */
  ask(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<ServiceAnswer>;
  /**
   * Posts a message until it is accepted, each time with the same Idempotency-Key where the answer
   * is that it timed out, and returns it.
   */
  send(session: string, message: object): Promise<Message>;
  /** Waits until the message is settled and returns it. */
  settled(message: { id: string }): Promise<Message>;
}

/** The longest that a request may take: a longer one counts as hanging. */
const answeredWithinMs = 120_000;
const settledWithinMs = 150_000;
/** How often a message is sent whose requests time out. */
const triesMax = 10;

export function openServiceApi(url: string, apiKey: string): ServiceApi {
  async function ask(
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<ServiceAnswer> {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(answeredWithinMs),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }
  return {
    ask,
    async send(session, message) {
      const headers = { 'idempotency-key': randomUUID() };
      const post = () => ask('POST', `/v1/sessions/${session}/messages`, message, headers);
      let answer = await post();
      for (let tries = 1; tries < triesMax && answer.body.code === 'timeout'; tries += 1) answer = await post();
      if (answer.status !== 202) throw new Error(`expected 202, got ${answer.status}: ${JSON.stringify(answer.body)}`);
      return answer.body.message;
    },
    async settled({ id }) {
      let seen: unknown;
      try {
        return await waitUntil(`message ${id} is settled`, settledWithinMs, async () => {
          const { body } = await ask('GET', `/v1/messages/${id}`);
          seen = body;
          return body.status !== 'waiting' && body.status !== 'claimed' && (body as Message);
        });
      } catch (error) {
        throw new Error(`message ${id} is not settled: ${JSON.stringify(seen)}`, { cause: error });
      }
    },
  };
}
