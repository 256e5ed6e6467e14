// The connections of one app in Socket Mode. An envelope goes to one of them, and counts as
// received when its id comes back.
import type http from 'node:http';
import type { Duplex } from 'node:stream';
import { randomUUID } from 'node:crypto';
import type { WebSocket, WebSocketServer } from 'ws';
import type { Recorded, RecordedPush } from '../call-log.ts';
import { isRecord } from '../read-parameters.ts';

export interface Envelope {
  kind: 'events_api' | 'interactive';
  payload: unknown;
  attempt: number;
  timeoutMs: number;
}

/** Why a connection has to be replaced. */
export type DisconnectReason = 'warning' | 'refresh_requested' | 'link_disabled';

const PING_MS = 10_000;

export class Sockets {
  readonly #appId: string;
  readonly #server: WebSocketServer;
  readonly #record: Recorded<RecordedPush>;
  readonly #open = new Set<WebSocket>();
  readonly #tickets = new Set<string>();
  /** By the ids of envelopes: called with whether it was acknowledged. */
  readonly #waiting = new Map<string, { socket: WebSocket; end: (isReceived: boolean) => void }>();

  constructor(appId: string, server: WebSocketServer, record: Recorded<RecordedPush>) {
    this.#appId = appId;
    this.#server = server;
    this.#record = record;
  }

  get count(): number {
    return this.#open.size;
  }

  /** A ticket opens one connection. */
  newTicket(): string {
    const ticket = randomUUID();
    this.#tickets.add(ticket);
    return ticket;
  }

  /** Takes a connection with a ticket of this app; false: the ticket is not one. */
  accept(ticket: string, request: http.IncomingMessage, socket: Duplex, head: Buffer): boolean {
    if (!this.#tickets.delete(ticket)) return false;
    this.#server.handleUpgrade(request, socket, head, (connection) => this.#welcome(connection));
    return true;
  }

  /**
   * Sends an envelope over the connection that is next; false: there is none, or it was not
   * acknowledged.
   */
  async send({ kind, payload, attempt, timeoutMs }: Envelope): Promise<boolean> {
    const [socket] = this.#open;
    if (socket === undefined) return false;
    // The others come first next time.
    this.#open.delete(socket);
    this.#open.add(socket);
    const id = randomUUID();
    const push = this.#record.add({
      sentAt: new Date().toISOString(),
      attempt,
      url: 'socket',
      body: payload,
      status: null,
    });
    const isEvent = kind === 'events_api';
    const retry = isEvent ? { retry_attempt: attempt - 1, retry_reason: attempt === 1 ? '' : 'timeout' } : {};
    const isReceived = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.#waiting.set(id, { socket, end: (isAcknowledged) => (clearTimeout(timer), resolve(isAcknowledged)) });
      socket.send(
        JSON.stringify({ envelope_id: id, payload, type: kind, accepts_response_payload: !isEvent, ...retry }),
      );
    });
    this.#waiting.delete(id);
    if (isReceived) this.#record.answer(push, { status: 200 });
    return isReceived;
  }

  /** Announces that connections end, and ends them when the app has not. */
  disconnect(reason: DisconnectReason): void {
    for (const socket of this.#open) {
      this.#open.delete(socket);
      socket.send(JSON.stringify({ type: 'disconnect', reason, debug_info: { host: 'scripted' } }));
    }
  }

  /** Cuts connections without a word. */
  cut(): void {
    for (const socket of this.#open) socket.terminate();
  }

  close(): void {
    this.cut();
    for (const { end } of this.#waiting.values()) end(false);
  }

  #welcome(socket: WebSocket): void {
    this.#open.add(socket);
    const ping = setInterval(() => socket.ping(), PING_MS);
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(ping);
      this.#open.delete(socket);
      for (const waiting of this.#waiting.values()) if (waiting.socket === socket) waiting.end(false);
    });
    socket.on('message', (data: Buffer) => {
      const message: unknown = JSON.parse(data.toString());
      if (isRecord(message) && typeof message.envelope_id === 'string')
        this.#waiting.get(message.envelope_id)?.end(true);
    });
    const debug = {
      host: 'scripted',
      started: new Date().toISOString(),
      build_number: 1,
      approximate_connection_time: 18_060,
    };
    // prettier-ignore
    socket.send(JSON.stringify({ type: 'hello', num_connections: this.#open.size, debug_info: debug, connection_info: { app_id: this.#appId } }));
  }
}
