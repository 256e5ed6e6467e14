// A scripted Discord: a server with the wires of the REST API (version 10) and the gateway, whose
// users are played by a test or over HTTP (docs/scripted-platform.md). It keeps nothing on disk.
import type { z } from 'zod';
import { WebSocketServer } from 'ws';
// prettier-ignore
import { recordOf, serveApi, type Answer, type ApiCall, type ApiRequest, type ApiServer, type Control, type ServerOptions } from '../api-server.ts';
import type { Refusal } from '../faults.ts';
import { disorderSchema, Pushes, type Disorder } from '../pushes.ts';
import { Gateway, type GatewayDrop } from './gateway.ts';
import { METHODS, routeOf, type DiscordCall } from './methods.ts';
import { edit, press, react, remove, say, setChannel, type saySchema, type DiscordStage } from './people.ts';
import { DiscordRefusal } from './refused.ts';
import { World, type DiscordBot, type DiscordMessage, type Json } from './world.ts';

export interface ScriptedDiscordOptions extends ServerOptions {
  /** Its bots; what is left out is that of `DISCORD_BOT`. Absent: one. */
  bots?: Partial<DiscordBot>[];
  /** How often a bot sends heartbeats; absent: 41.25 s. */
  heartbeatMs?: number;
  /** For how long a nonce is known; absent: five minutes. */
  nonceMs?: number;
}

export interface ScriptedDiscord extends ApiServer {
  readonly bots: readonly DiscordBot[];
  say: (saying: z.input<typeof saySchema> | string) => DiscordMessage;
  edit: (input: Parameters<typeof edit>[1]) => DiscordMessage;
  remove: (input: Parameters<typeof remove>[1]) => void;
  react: (input: Parameters<typeof react>[1]) => void;
  press: (input: Parameters<typeof press>[1]) => void;
  /** Makes a channel or a thread known, or changes it. */
  setChannel: (input: Parameters<typeof setChannel>[1]) => Json;
  /** The messages of a channel as they are now, oldest first. */
  messages: (channel: string) => DiscordMessage[];
  /** The id of the direct chat of a person with the first bot. */
  directChat: (user: string) => string;
  /** How many connections of a bot have a session. */
  socketCount: (bot?: string) => number;
  /** How many sessions a bot has begun. */
  sessionCount: (bot?: string) => number;
  /** How many heartbeats a bot has sent. */
  heartbeatCount: (bot?: string) => number;
  /** Asks a bot to connect anew, or ends its sessions; without a reason, cuts its connections. */
  dropSockets: (reason?: GatewayDrop, bot?: string) => void;
  /** Has the next events duplicated or reordered. */
  disturb: (disorder: Disorder) => void;
}

export const DISCORD_BOT: DiscordBot = {
  id: '1001',
  token: 'scripted-discord.token.of-the-scripted-bot',
  hasContentIntent: true,
};

const HEARTBEAT_MS = 41_250;
const NONCE_MS = 300_000;

/**
 * Starts a scripted Discord; fulfils when it listens, rejects with the socket's error when it
 * cannot.
 */
export async function startScriptedDiscord(options: ScriptedDiscordOptions = {}): Promise<ScriptedDiscord> {
  const { bots = [{}], heartbeatMs = HEARTBEAT_MS, nonceMs = NONCE_MS } = options;
  const record = recordOf(options);
  const world = new World(bots.map((bot) => ({ ...DISCORD_BOT, ...bot })));
  const gateways = new Map(world.bots.map((bot) => [bot, new Gateway({ bot, world, record: record.pushes })]));
  const webSockets = new WebSocketServer({ noServer: true });
  // An event is sent once: a session keeps it.
  const pushes = new Pushes({ timeoutMs: 0, isStrict: true, waitBefore: () => null });
  let origin = '';
  const gatewayUrl = (): string => `${origin.replace('http', 'ws')}/gateway`;
  const stage: DiscordStage = { world, gateways, pushes, origin: () => origin };
  const nonces: DiscordCall['nonces'] = new Map();
  const server = await serveApi(options, record, {
    callOf: (request) => callOf({ stage, nonces, nonceMs, gatewayUrl: gatewayUrl() }, request),
    refuse,
    control: controlOf(stage),
    upgrade: (request, socket, head) =>
      webSockets.handleUpgrade(request, socket, head, (connected) =>
        Gateway.welcome(connected, gateways, { gatewayUrl: gatewayUrl(), heartbeatMs }),
      ),
  });
  origin = server.url;
  return {
    ...server,
    bots: world.bots,
    say: (saying) => say(stage, typeof saying === 'string' ? { text: saying } : saying),
    edit: (input) => edit(stage, input),
    remove: (input) => remove(stage, input),
    react: (input) => react(stage, input),
    press: (input) => press(stage, input),
    setChannel: (input) => setChannel(stage, input),
    messages: (channel) => [...(world.channels.get(channel)?.messages.values() ?? [])],
    directChat: (user) => world.directChat(world.bot(), user).id,
    socketCount: (bot) => gatewayOf(stage, bot).count,
    sessionCount: (bot) => gatewayOf(stage, bot).identifies,
    heartbeatCount: (bot) => gatewayOf(stage, bot).heartbeats,
    dropSockets: (reason, bot) => gatewayOf(stage, bot).drop(reason),
    disturb: (disorder) => pushes.disturb(disorder),
    close: async () => {
      pushes.close();
      for (const socket of webSockets.clients) socket.terminate();
      webSockets.close();
      await server.close();
    },
  };
}

/** Each bot has a gateway. */
function gatewayOf({ world, gateways }: DiscordStage, bot?: string): Gateway {
  return gateways.get(world.bot(bot)) as Gateway;
}

/** Bodies are parsed by what they are given to. */
function controlOf(stage: DiscordStage): Record<string, Control> {
  const { world } = stage;
  return {
    'POST say': (body) => say(stage, body),
    'POST edit': (body) => edit(stage, body),
    'POST remove': (body) => remove(stage, body),
    'POST react': (body) => react(stage, body),
    'POST press': (body) => press(stage, body),
    'POST channels': (body) => setChannel(stage, body),
    'GET messages': ({ channel }) => ({
      messages: [...(world.channels.get(String(channel))?.messages.values() ?? [])],
    }),
    'GET bots': () => ({ bots: world.bots }),
    'POST sockets/drop': ({ bot, reason }) => gatewayOf(stage, bot).drop(reason),
    'POST pushes': (disorder) => stage.pushes.disturb(disorderSchema.parse(disorder)),
  };
}

type Serving = Pick<DiscordCall, 'stage' | 'nonces' | 'nonceMs' | 'gatewayUrl'>;

function callOf(serving: Serving, request: ApiRequest): ApiCall {
  const { parameters, files, headers, path } = request;
  const { world } = serving.stage;
  const [, file] = /^\/attachments\/\d+\/(\d+)\//.exec(path) ?? [];
  if (file !== undefined) return { method: 'attachments', bot: '', chat: null, run: () => download(world, file) };
  // The form of a message with files has its JSON in one field.
  if (typeof parameters.payload_json === 'string') Object.assign(parameters, JSON.parse(parameters.payload_json));
  const found = routeOf(request.httpMethod, path.replace(/^\/api(?:\/v10)?/, ''));
  const bot = world.bots.find(({ token }) => headers.authorization === `Bot ${token}`);
  const name = found?.name ?? `${request.httpMethod} ${path}`;
  const run = (): Answer => {
    if (found === null) return failure(404, 0, '404: Not Found');
    // Who has the token of an interaction may answer it.
    const caller = bot ?? (name.includes('/interactions/') ? world.bot() : undefined);
    if (caller === undefined) return failure(401, 0, '401: Unauthorized');
    try {
      const body = METHODS[found.name]!({ ...serving, bot: caller, path: found.path, parameters, files });
      return body === null ? { status: 204, body: Buffer.alloc(0) } : { status: 200, body: structuredClone(body) };
    } catch (error) {
      if (error instanceof DiscordRefusal) return failure(error.status, error.code, error.message);
      throw error;
    }
  };
  return { method: name, bot: bot?.id ?? '', chat: found?.path.channel ?? null, run };
}

function download({ files }: World, id: string): Answer {
  const file = files.get(id);
  if (file === undefined) return { status: 404, body: Buffer.from('This content is no longer available.') };
  return { status: 200, body: file.bytes, headers: { 'content-type': file.type } };
}

/** A 429 that `description` calls "global" is for all calls of the bot. */
function refuse({ status, description, retryAfter }: Refusal): Answer {
  if (retryAfter === undefined) return failure(status, 0, description ?? `${status}: Internal Server Error`);
  const isGlobal = description === 'global';
  const body = { message: 'You are being rate limited.', retry_after: retryAfter, global: isGlobal };
  // prettier-ignore
  const scope = isGlobal ? { 'x-ratelimit-global': 'true', 'x-ratelimit-scope': 'global' } : { 'x-ratelimit-scope': 'user' };
  return { status: 429, body, headers: { 'retry-after': String(retryAfter), ...scope } };
}

function failure(status: number, code: number, message: string): Answer {
  return { status, body: { message, code } };
}
