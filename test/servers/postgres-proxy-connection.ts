// One client connection of a PostgreSQL proxy: two pumps, one for each direction, that forward
// bytes as they came and stop at the breakpoints. Requests are sent when they are whole; answers
// flow through unless a breakpoint waits behind them.
import type { Socket } from 'node:net';
import {
  MessageReader,
  sqlOfQuery,
  statementOfBind,
  statementOfParse,
  transactionStateOf,
  type StartupPacket,
  type WireMessage,
} from './postgres-wire.ts';
import { passBreakpoints, type RoundTrip, type RoundTrips, type TakenBreakpoint } from './round-trips.ts';

interface Pending {
  trip: RoundTrip;
  after: TakenBreakpoint[];
  /**
   * False between Flush and Sync: the client waits for a part of the answer, which cannot be held
   * back.
   */
  isWhole: boolean;
  failed: boolean;
}

export class ProxiedConnection {
  readonly #trips: RoundTrips;
  readonly #number: number;
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #fromClient = new MessageReader();
  readonly #fromServer = new MessageReader();
  readonly #statements = new Map<string, string>();
  readonly #pending: Pending[] = [];
  #label = '';
  #isReady = false;
  /** The request that is being received: its bytes that are not sent yet, and its name. */
  #held: Buffer[] = [];
  #bound: string[] = [];
  #parsed: string[] = [];
  #current: Pending | null = null;

  constructor(trips: RoundTrips, number: number, client: Socket, upstream: Socket) {
    this.#trips = trips;
    this.#number = number;
    this.#client = client;
    this.#upstream = upstream;
  }

  /** Serves the connection until either side ends it; never rejects. */
  async run(): Promise<void> {
    const toServer = this.#pumpClient().then(
      // The client closed the connection normally: its requests are still executed, as they would
      // be without a proxy.
      () => this.#upstream.end(),
      () => this.#upstream.destroy(),
    );
    const toClient = this.#pumpServer().finally(() => this.#client.destroy());
    await Promise.allSettled([toServer, toClient]);
    for (const pending of [...this.#pending, ...(this.#current ? [this.#current] : [])]) {
      if (pending.trip.outcome === 'pending') this.#trips.end(pending.trip, 'dropped');
    }
  }

  async #pumpClient(): Promise<void> {
    let isStarted = false;
    for await (const chunk of this.#client as AsyncIterable<Buffer>) {
      let rest = chunk;
      while (!isStarted) {
        const packet = this.#fromClient.pushStartup(rest);
        if (packet === null) break;
        rest = Buffer.alloc(0);
        isStarted = this.#start(packet);
      }
      if (!isStarted) continue;
      for (const message of this.#fromClient.push(rest)) {
        if (!(await this.#request(message))) throw new ConnectionDropped();
      }
    }
  }

  /** Answers or forwards a startup packet; true when typed messages follow. */
  #start(packet: StartupPacket): boolean {
    if (packet.kind === 'encryption') {
      this.#client.write('N');
      return false;
    }
    if (packet.kind === 'startup') this.#label = packet.parameters.get('application_name') ?? '';
    this.#upstream.write(packet.bytes);
    return true;
  }

  /** Takes one message of the client; false when the connection is to end. */
  async #request(message: WireMessage): Promise<boolean> {
    // Before the first ReadyForQuery the messages are passwords; copy data and Terminate are no
    // round trips either.
    if (!this.#isReady || 'dcfX'.includes(message.type)) {
      this.#upstream.write(message.bytes);
      return true;
    }
    this.#held.push(message.bytes);
    this.#note(message);
    if (message.type === 'H') return await this.#send(false);
    if (message.type !== 'S' && message.type !== 'Q') return true;
    const isSent = await this.#send(true);
    this.#current = null;
    this.#bound = [];
    this.#parsed = [];
    return isSent;
  }

  #note(message: WireMessage): void {
    if (message.type === 'Q') this.#bound.push(sqlOfQuery(message));
    if (message.type === 'B') this.#bound.push(this.#statements.get(statementOfBind(message)) ?? '');
    if (message.type !== 'P') return;
    const { name, sql } = statementOfParse(message);
    this.#statements.set(name, sql);
    this.#parsed.push(sql);
  }

  /**
   * Sends the held bytes, after the breakpoints before them; the first part of a request opens its
   * round trip.
   */
  async #send(isWhole: boolean): Promise<boolean> {
    if (this.#current === null) {
      const trip = this.#trips.begin(this.#label, this.#number, this.#bound.length > 0 ? this.#bound : this.#parsed);
      const taken = this.#trips.take(trip);
      this.#current = { trip, after: taken.filter(({ when }) => when === 'after'), isWhole, failed: false };
      const before = taken.filter(({ when }) => when === 'before');
      if (before.length > 0 && !(await passBreakpoints(before, trip))) return false;
      this.#pending.push(this.#current);
    }
    this.#current.isWhole = isWhole;
    const request = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
    this.#current.trip.bytes += request.length;
    this.#upstream.write(request);
    this.#held = [];
    return true;
  }

  async #pumpServer(): Promise<void> {
    let out: Buffer[] = [];
    const flush = (): void => {
      if (out.length > 0) this.#client.write(out.length === 1 ? out[0]! : Buffer.concat(out));
      out = [];
    };
    for await (const chunk of this.#upstream as AsyncIterable<Buffer>) {
      for (const message of this.#fromServer.push(chunk)) {
        out.push(message.bytes);
        const head = this.#pending[0];
        if (head) head.trip.bytes += message.bytes.length;
        if (message.type === 'E' && head) head.failed = true;
        if (message.type !== 'Z') continue;
        this.#isReady = true;
        if (head && !(await this.#answered(head, message))) throw new ConnectionDropped();
        flush();
      }
      const head = this.#pending[0];
      if (!head || head.after.length === 0 || !head.isWhole) flush();
    }
    flush();
  }

  /** Closes a round trip whose whole answer is here; false when the connection is to end. */
  async #answered(head: Pending, ready: WireMessage): Promise<boolean> {
    this.#pending.shift();
    head.trip.transactionState = transactionStateOf(ready);
    this.#trips.end(head.trip, head.failed ? 'error' : 'ok');
    return head.after.length === 0 || (await passBreakpoints(head.after, head.trip));
  }
}

class ConnectionDropped extends Error {
  readonly code = 'connection_dropped';
}
