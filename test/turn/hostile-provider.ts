// A provider that makes every mistake of an answer, at random by a seed: it refuses requests as
// invalid, and then each later request with the same part; it answers with halves of characters and
// NULs, odd usage figures and reasons, cuts answers off, and says that it is overloaded with times
// to wait of centuries. A request that the Messages API would refuse, it refuses, too.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { signatureOf } from '../../scripted-model/signature.ts';
import { validateRequest } from '../../scripted-model/validate-request.ts';
import { randomOf } from '../crash/rig/random-of.ts';

const REFUSED_SHARE = 0.05;
const OVERLOADED_SHARE = 0.02;
const BROKEN_SHARE = 0.02;
const TIMES_TO_WAIT = ['1795708800', '1795708800000', 'Fri, 01 Jan 2099 00:00:00 GMT', '99999999999999999999'];
const FIGURES = [1e30, -5, 0.5, null, 'many', 7];
const TORN = String.raw`\ud83d`;

export interface HostileProvider {
  url: string;
  /** How often it did what. */
  counts: Record<string, number>;
  /** From now on it makes no mistakes; what it has refused, it refuses still. */
  calm(): void;
  close(): Promise<void>;
}

interface Conversation {
  random: () => number;
  /** Parts of requests that it refuses, as JSON. */
  refused: Set<string>;
  /** Parts of requests that it has answered. */
  accepted: Set<string>;
  answers: number;
}

interface Request {
  messages: { role: string; content: Record<string, unknown>[] }[];
  tools?: { name: string }[];
}

/**
 * Starts the provider. What it does in a session follows from the seed and from the requests of
 * that session.
 */
export async function startHostileProvider(seed: number): Promise<HostileProvider> {
  const conversations = new Map<string, Conversation>();
  const counts: Record<string, number> = {};
  let isCalm = false;
  const conversationOf = (session: string): Conversation => {
    const number = Number(/\d+$/.exec(session)?.[0] ?? 0);
    const known = conversations.get(session) ?? {
      random: randomOf(seed + number),
      refused: new Set(),
      accepted: new Set(),
      answers: 0,
    };
    conversations.set(session, known);
    return known;
  };
  const count = (what: string): void => void (counts[what] = (counts[what] ?? 0) + 1);

  const server = http.createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const conversation = conversationOf(String(request.headers['x-holdfast-session']));
      const body = Buffer.concat(chunks).toString();
      const fault = faultOf(body, conversation, isCalm);
      count(fault?.what ?? 'answered');
      if (fault !== null) {
        const headers = fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter };
        response.writeHead(fault.status, { 'content-type': 'application/json', ...headers });
        response.end(JSON.stringify({ type: 'error', error: { type: fault.type, message: fault.what } }));
        return;
      }
      const events = eventsFor(JSON.parse(body) as Request, conversation, isCalm);
      const isBroken = !isCalm && conversation.random() < BROKEN_SHARE;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const sent = isBroken ? events.slice(0, Math.ceil(events.length / 2)) : events;
      response.write(sent.map((event) => `event: ${/"type":"(\w+)"/.exec(event)?.[1]}\ndata: ${event}\n\n`).join(''));
      if (isBroken) count('broken off');
      if (isBroken) response.destroy();
      else response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    calm: () => void (isCalm = true),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Fault {
  what: string;
  status: number;
  type: string;
  retryAfter?: string;
}

function faultOf(body: string, { random, refused, accepted }: Conversation, isCalm: boolean): Fault | null {
  const invalid = (what: string): Fault => ({ what, status: 400, type: 'invalid_request_error' });
  if (!isWhole(body)) return invalid('half a character in the request');
  try {
    validateRequest(JSON.parse(body));
  } catch (error) {
    return invalid(`not accepted: ${String(error)}`);
  }
  const { messages } = JSON.parse(body) as Request;
  const parts = messages.flatMap(({ content }) => content.map(partOf));
  if (parts.some((part) => refused.has(part))) return invalid('refused before');
  if (isCalm) return null;
  const chance = random();
  if (chance < REFUSED_SHARE) {
    // One of the parts that are sent for the first time: of the prompt, or of an answer with calls
    // and its results.
    const last = messages.slice(hasResults(messages) ? -2 : -1).flatMap(({ content }) => content.map(partOf));
    const fresh = last.filter((part) => !accepted.has(part));
    refused.add(fresh[Math.floor(random() * fresh.length)] ?? '');
    return invalid('refused at random');
  }
  if (chance < REFUSED_SHARE + OVERLOADED_SHARE) {
    const retryAfter = TIMES_TO_WAIT[Math.floor(random() * TIMES_TO_WAIT.length)] ?? '';
    const [status, type] = random() < 0.5 ? [429, 'rate_limit_error'] : [529, 'overloaded_error'];
    return { what: 'overloaded', status: status as number, type: type as string, retryAfter };
  }
  for (const part of parts) accepted.add(part);
  return null;
}

function isWhole(body: string): boolean {
  let whole = true;
  JSON.parse(body, (key, value: unknown) => {
    for (const text of [key, value]) {
      if (typeof text === 'string' && (!text.isWellFormed() || text.includes('\0'))) whole = false;
    }
    return value;
  });
  return whole;
}

function hasResults(messages: Request['messages']): boolean {
  return messages.at(-1)?.content.some(({ type }) => type === 'tool_result') === true;
}

function partOf({ cache_control: _cache, ...block }: Record<string, unknown>): string {
  return JSON.stringify(block);
}

/** The events of an answer, each as JSON. */
function eventsFor(request: Request, conversation: Conversation, isCalm: boolean): string[] {
  const { random } = conversation;
  conversation.answers += 1;
  const no = conversation.answers;
  const oneOf = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const isTorn = !isCalm && random() < 0.3;
  const torn = isTorn ? oneOf([TORN, String.raw`\udc00`, String.raw`\u0000`]) : '';
  const said = `Answer ${no} ${'and more of it '.repeat(random() < 0.1 ? 500 : 1)}${torn} end.`;
  const blocks: string[][] = [];
  if (!isCalm && random() < 0.2) {
    const thought = `Thought ${no}${random() < 0.2 ? TORN : ''}`;
    const signature = signatureOf(JSON.parse(`"${thought}"`) as string);
    blocks.push(
      block(blocks.length, '{"type":"thinking","thinking":"","signature":""}', [
        `{"type":"thinking_delta","thinking":"${thought}"}`,
        `{"type":"signature_delta","signature":"${signature}"}`,
      ]),
    );
  }
  blocks.push(block(blocks.length, '{"type":"text","text":""}', [`{"type":"text_delta","text":"${said}"}`]));
  const wants = random();
  const isCalling = !isCalm && wants < (hasResults(request.messages) ? 0.3 : 0.6);
  const isCut = isCalling && random() < 0.15;
  if (isCalling) {
    const names = (request.tools ?? []).map(({ name }) => name).filter((name) => TOOLS.has(name));
    const start = `{"type":"tool_use","id":"toolu_${no}${isTorn ? TORN : ''}","name":"${oneOf(names)}","input":{}}`;
    const json = isCut
      ? oneOf(['', `{"n":${no},"te`])
      : `{"n":${no},"text":"${isTorn ? String.raw`\ud83d\u0000` : 'whole'}"}`;
    blocks.push(
      block(
        blocks.length,
        start,
        json === '' ? [] : [`{"type":"input_json_delta","partial_json":${JSON.stringify(json)}}`],
      ),
    );
  }
  const figure = (): string => JSON.stringify(isCalm ? 7 : oneOf(FIGURES));
  const usage = `{"input_tokens":${figure()},"output_tokens":${figure()},"cache_read_input_tokens":${figure()}}`;
  const reason = isCut ? 'max_tokens' : isCalling ? 'tool_use' : isCalm ? 'end_turn' : oneOf(REASONS);
  return [
    `{"type":"message_start","message":{"id":"msg_${no}${torn}","model":"m","usage":${usage}}}`,
    ...blocks.flat(),
    `{"type":"message_delta","delta":{"stop_reason":"${reason}"},"usage":${usage}}`,
    '{"type":"message_stop"}',
  ];
}

/** The names of the tools that it calls. */
export const TOOLS: ReadonlySet<string> = new Set(['look', 'picture', 'weather']);
const REASONS = [
  'end_turn',
  'end_turn',
  'end_turn',
  'end_turn',
  'stop',
  'max_tokens',
  'pause_turn',
  'stop_sequence',
  'odd',
];

function block(index: number, start: string, deltas: readonly string[]): string[] {
  return [
    `{"type":"content_block_start","index":${index},"content_block":${start}}`,
    ...deltas.map((delta) => `{"type":"content_block_delta","index":${index},"delta":${delta}}`),
    `{"type":"content_block_stop","index":${index}}`,
  ];
}
