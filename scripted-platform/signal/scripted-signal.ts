// A scripted Signal: a server with the JSON-RPC wire of signal-cli's daemon for one account, whose
// correspondents are played by a test or over HTTP (docs/scripted-platform.md). It keeps nothing on
// disk.
import type { z } from 'zod';
import {
  recordOf,
  serveApi,
  type Answer,
  type ApiCall,
  type ApiRequest,
  type ApiServer,
  type Control,
  type ServerOptions,
} from '../api-server.ts';
import type { Refusal } from '../faults.ts';
import { disorderSchema, type Disorder } from '../pushes.ts';
import { listOf, METHODS } from './methods.ts';
import { edit, react, say, setGroup, setPerson, type saySchema } from './people.ts';
import { Refused, World, type Group, type Json, type Message, type Person } from './world.ts';

export interface ScriptedSignalOptions extends ServerOptions {
  /** The number of the bot; absent: that of `SIGNAL_NUMBER`. */
  number?: string;
  /** The longest time that `receive` waits, whatever the caller asks for, in seconds. */
  receiveSecondsMax?: number;
}

export interface ScriptedSignal extends ApiServer {
  /** A person writes. */
  say: (saying: z.input<typeof saySchema> | string) => Message;
  edit: (input: Parameters<typeof edit>[1]) => Message;
  react: (input: Parameters<typeof react>[1]) => void;
  /** Makes a person known. */
  setPerson: (input: Parameters<typeof setPerson>[1]) => Person;
  /** Makes a group known, or has the bot removed from it. */
  setGroup: (input: Parameters<typeof setGroup>[1]) => Group;
  /**
   * The messages of a chat as they are now, oldest first: of a group by its id, of a person by the
   * number or the UUID.
   */
  messages: (chat: string) => Message[];
  /** The envelopes that the daemon has not received. */
  waiting: () => Json[];
  /** Whether the daemon waits for envelopes, because a client has asked it to. */
  isReceiving: () => boolean;
  /** Has the next envelopes duplicated or reordered. */
  disturb: (disorder: Disorder) => void;
}

export const SIGNAL_NUMBER = '+4915100000001';

/**
 * Starts a scripted Signal; fulfils when it listens, rejects with the socket's error when it
 * cannot.
 */
export async function startScriptedSignal(options: ScriptedSignalOptions = {}): Promise<ScriptedSignal> {
  const { number = SIGNAL_NUMBER, receiveSecondsMax = Infinity } = options;
  const record = recordOf(options);
  const world = new World(number, record.pushes);
  const server = await serveApi(options, record, {
    callOf: (request) => callOf(world, receiveSecondsMax, request),
    refuse,
    control: controlOf(world),
  });
  return {
    ...server,
    say: (saying) => say(world, typeof saying === 'string' ? { text: saying } : saying),
    edit: (input) => edit(world, input),
    react: (input) => react(world, input),
    setPerson: (input) => setPerson(world, input),
    setGroup: (input) => setGroup(world, input),
    messages: (chat) => messagesOf(world, chat),
    waiting: () => world.waiting,
    isReceiving: () => world.isReceiving,
    disturb: (disorder) => world.disturb(disorder),
  };
}

function messagesOf(world: World, chat: string): Message[] {
  const person = [...world.people.values()].find(({ uuid, number }) => chat === uuid || chat === number);
  return [...world.messagesOf(person?.uuid ?? chat)];
}

/** Bodies are parsed by what they are given to. */
function controlOf(world: World): Record<string, Control> {
  return {
    'POST say': (body) => say(world, body),
    'POST edit': (body) => edit(world, body),
    'POST react': (body) => react(world, body),
    'POST people': (body) => setPerson(world, body),
    'POST groups': (body) => setGroup(world, body),
    'GET messages': ({ chat }) => ({ messages: messagesOf(world, String(chat)) }),
    'GET waiting': () => ({ envelopes: world.waiting }),
    'POST pushes': (body) => world.disturb(disorderSchema.parse(body)),
  };
}

function callOf(world: World, receiveSecondsMax: number, { path, parameters, headers }: ApiRequest): ApiCall {
  const { id = null, method: name } = parameters;
  const method = path === '/api/v1/rpc' && typeof name === 'string' ? name : path;
  const given = (parameters['params'] ?? {}) as Json;
  const chat = listOf(given, 'groupId')[0] ?? listOf(given, 'recipient')[0] ?? null;
  const run = async (): Promise<Answer> => {
    if (path === '/api/v1/check') return { status: 200, body: Buffer.alloc(0) };
    if (path !== '/api/v1/rpc') return { status: 404, body: Buffer.alloc(0) };
    if (headers['content-type']?.startsWith('application/json') !== true) return { status: 415, body: Buffer.alloc(0) };
    try {
      const carryOut = METHODS[method];
      if (carryOut === undefined) throw new Refused(-32_601, 'Method not implemented');
      const timeout = Math.min(Number(given['timeout'] ?? 3), receiveSecondsMax);
      const result = await carryOut(world, method === 'receive' ? { ...given, timeout } : given);
      return { status: 200, body: { jsonrpc: '2.0', result: structuredClone(result), id } };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return failure(error.code, error.message, { id, data: error.data });
    }
  };
  return { method, bot: world.bot.number, chat, run };
}

/**
 * With the status 200, the daemon has answered with an error: `description` is its code and its
 * words. Every other status comes from before the daemon.
 */
function refuse({ status, description = '', retryAfter }: Refusal): Answer {
  if (retryAfter !== undefined) {
    const results = [{ type: 'RATE_LIMIT_FAILURE', retryAfterSeconds: retryAfter }];
    const words = description || 'Failed to send message due to rate limiting';
    return failure(-5, words, { data: { response: { results } } });
  }
  if (status !== 200) return { status, body: Buffer.from(description) };
  const [, code = '-1', words = 'Failed to send message'] = /^(-?\d+) (.+)$/.exec(description) ?? [];
  return failure(Number(code), words, {});
}

function failure(code: number, message: string, { id = null, data = null }: { id?: unknown; data?: unknown }): Answer {
  return { status: 200, body: { jsonrpc: '2.0', error: { code, message, data }, id } };
}
