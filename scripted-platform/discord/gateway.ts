// The gateway of one bot: its sessions, each with the events that it was sent. A session outlives
// its connection; one that is resumed gets again what came after the number that the bot names.
import { randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';
import type { Recorded, RecordedPush } from '../call-log.ts';
import { isRecord } from '../read-parameters.ts';
import { GUILD, roleOf, type DiscordBot, type Json, type World } from './world.ts';

/**
 * How a connection ends: with a request for a new one, with the end of its session, or without a
 * word.
 */
export type GatewayDrop = 'reconnect' | 'invalid_session';

// prettier-ignore
export const INTENT = { messages: 1 << 9, reactions: 1 << 10, direct: 1 << 12, directReactions: 1 << 13, content: 1 << 15 };

interface Session {
  id: string;
  intents: number;
  sequence: number;
  /** What no heartbeat and no resume has confirmed. */
  events: { s: number; text: string; push: RecordedPush }[];
  socket: WebSocket | null;
}

const OP = { dispatch: 0, heartbeat: 1, identify: 2, resume: 6, reconnect: 7, invalid: 9, hello: 10, ack: 11 };
const CLOSE = { notAuthenticated: 4003, token: 4004, sequence: 4007, intents: 4014 };

export class Gateway {
  readonly #bot: DiscordBot;
  readonly #world: World;
  readonly #record: Recorded<RecordedPush>;
  readonly #sessions = new Map<string, Session>();
  identifies = 0;
  heartbeats = 0;

  constructor(parts: { bot: DiscordBot; world: World; record: Recorded<RecordedPush> }) {
    this.#bot = parts.bot;
    this.#world = parts.world;
    this.#record = parts.record;
  }

  /** How many connections have a session. */
  get count(): number {
    return [...this.#sessions.values()].filter(({ socket }) => socket !== null).length;
  }

  /** Sends an event to every session that has one of the intents. */
  dispatch(event: string, data: Json, intent: number, hidden: Json = data): void {
    for (const session of this.#sessions.values())
      if ((session.intents & intent) !== 0)
        this.#send(session, event, (session.intents & INTENT.content) === 0 ? hidden : data);
  }

  drop(reason?: GatewayDrop): void {
    for (const [id, { socket }] of this.#sessions) {
      if (reason === 'invalid_session') this.#sessions.delete(id);
      if (reason === undefined) socket?.terminate();
      else
        socket?.send(
          JSON.stringify(reason === 'reconnect' ? { op: OP.reconnect, d: null } : { op: OP.invalid, d: false }),
        );
    }
  }

  /** Takes a connection whose first message has this bot's token. */
  take(socket: WebSocket, { op, d }: { op: unknown; d: Json }, gatewayUrl: string): void {
    const session = op === OP.identify ? this.#begin(d, socket) : this.#resume(d, socket);
    if (session === null) return;
    socket.on('message', (data: Buffer) => this.#hear(session, socket, JSON.parse(data.toString())));
    socket.on('close', (code) => {
      if (session.socket === socket) session.socket = null;
      // A bot that closes in an ordinary way ends its session.
      if (code === 1000 || code === 1001) this.#sessions.delete(session.id);
    });
    if (op !== OP.identify) return;
    const { id } = this.#bot;
    const guilds = [{ id: GUILD.id, unavailable: true }];
    // prettier-ignore
    const ready = { v: 10, user: this.#world.people.get(id), guilds, private_channels: [], session_id: session.id, resume_gateway_url: gatewayUrl, application: { id, flags: 0 } };
    this.#send(session, 'READY', ready);
    // prettier-ignore
    const channels = [...this.#world.channels.values()].filter(({ type }) => type === 0).map((channel) => this.#world.showChannel(channel));
    this.#send(session, 'GUILD_CREATE', {
      ...GUILD,
      channels,
      roles: [{ id: roleOf(this.#bot), tags: { bot_id: id } }],
    });
  }

  #begin({ intents }: Json, socket: WebSocket): Session | null {
    const wanted = Number(intents);
    if ((wanted & INTENT.content) !== 0 && !this.#bot.hasContentIntent) {
      socket.close(CLOSE.intents, 'Disallowed intent(s).');
      return null;
    }
    this.identifies += 1;
    const session: Session = { id: randomUUID(), intents: wanted, sequence: 0, events: [], socket };
    this.#sessions.set(session.id, session);
    return session;
  }

  #resume({ session_id: id, seq }: Json, socket: WebSocket): Session | null {
    const session = this.#sessions.get(String(id));
    const from = Number(seq);
    if (session === undefined) {
      socket.send(JSON.stringify({ op: OP.invalid, d: false }));
      return null;
    }
    if (from > session.sequence) {
      socket.close(CLOSE.sequence, 'Invalid seq.');
      return null;
    }
    session.socket?.terminate();
    session.socket = socket;
    this.#confirm(session, from);
    for (const { text, push } of session.events) {
      push.attempt += 1;
      socket.send(text);
    }
    this.#send(session, 'RESUMED', {});
    return session;
  }

  #hear(session: Session, socket: WebSocket, message: unknown): void {
    if (!isRecord(message) || message.op !== OP.heartbeat) return;
    this.heartbeats += 1;
    this.#confirm(session, Number(message.d ?? 0));
    socket.send(JSON.stringify({ op: OP.ack }));
  }

  /**
   * Discord does not say how long it keeps events; this one keeps none that the bot has named,
   * which is the least that a bot can rely on.
   */
  #confirm(session: Session, sequence: number): void {
    const confirmed = session.events.filter(({ s }) => s <= sequence);
    session.events = session.events.filter(({ s }) => s > sequence);
    for (const { push } of confirmed) this.#record.answer(push, { status: 200 });
  }

  #send(session: Session, event: string, data: Json): void {
    session.sequence += 1;
    const text = JSON.stringify({ op: OP.dispatch, t: event, s: session.sequence, d: data });
    // prettier-ignore
    const push = this.#record.add({ sentAt: new Date().toISOString(), attempt: 1, url: 'gateway', body: JSON.parse(text) as unknown, status: null });
    session.events.push({ s: session.sequence, text, push });
    session.socket?.send(text);
  }

  /** Greets a connection, and gives it to the gateway of the bot whose token it names. */
  static welcome(
    socket: WebSocket,
    gateways: ReadonlyMap<DiscordBot, Gateway>,
    { gatewayUrl, heartbeatMs }: { gatewayUrl: string; heartbeatMs: number },
  ): void {
    socket.on('error', () => {});
    socket.once('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { op: unknown; d: Json };
      if (message.op !== OP.identify && message.op !== OP.resume)
        return socket.close(CLOSE.notAuthenticated, 'Not authenticated.');
      const found = [...gateways].find(([{ token }]) => token === message.d.token);
      if (found === undefined) return socket.close(CLOSE.token, 'Authentication failed.');
      found[1].take(socket, message, gatewayUrl);
    });
    socket.send(JSON.stringify({ op: OP.hello, d: { heartbeat_interval: heartbeatMs } }));
  }
}
