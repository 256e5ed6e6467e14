// A TCP proxy in front of PostgreSQL that knows where a protocol round trip begins and ends, so
// that a test can do something to a client at any of them: before the server sees the request, or
// after it executed the request and before the client hears of it. One proxy per client process
// tells whose round trip it is; `application_name` tells which of its pools.
//
//   client ── messages up to Sync, or one Query ──> [before] ──> server
//   client <── [after] <── everything up to ReadyForQuery ────── server
//
// Invariants: bytes are never changed or reordered, and a request that is not at a breakpoint is
// never delayed.
import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { ProxiedConnection } from './postgres-proxy-connection.ts';
import { RoundTrips, type ArmedBreakpoint, type Breakpoint, type RoundTrip } from './round-trips.ts';

export interface PostgresProxy {
  port: number;
  /** The database URL with this proxy in place of the server. */
  urlFor(databaseUrl: string): string;
  /** Breaks once, at the round trip that the breakpoint describes. */
  arm(breakpoint: Breakpoint): ArmedBreakpoint;
  /**
   * Calls the listener when a request is complete (`pending`) and again when its answer is. Returns
   * the function that removes it.
   */
  onRoundTrip(listener: (trip: RoundTrip) => void): () => void;
  /** Destroys all connections as a network failure would; new ones are accepted. */
  sever(): void;
  close(): Promise<void>;
}

/** Starts a proxy on a free loopback port in front of the server at `target`. */
export async function startPostgresProxy(target: { host: string; port: number }): Promise<PostgresProxy> {
  const trips = new RoundTrips();
  const sockets = new Set<Socket>();
  let connections = 0;
  const server: Server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ ...target, noDelay: true });
    track(sockets, client);
    track(sockets, upstream);
    void new ProxiedConnection(trips, ++connections, client, upstream).run();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sever = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    port,
    urlFor(databaseUrl) {
      const url = new URL(databaseUrl);
      url.hostname = '127.0.0.1';
      url.port = String(port);
      return url.toString();
    },
    arm: (breakpoint) => trips.arm(breakpoint),
    onRoundTrip: (listener) => trips.listen(listener),
    sever,
    async close() {
      const closed = once(server, 'close');
      server.close();
      sever();
      await closed;
    },
  };
}

function track(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  // The other side of the pair ends with it; the reason does not matter here.
  socket.on('error', () => {});
  socket.on('close', () => void sockets.delete(socket));
}
