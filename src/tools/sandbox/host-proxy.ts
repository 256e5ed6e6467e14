// The only way from a sandbox to the network: a proxy on a socket that is put into the sandbox. It
// connects to the hosts of a list, by name, and to no address inside (loopback, private networks,
// metadata) unless the list names that very address. Browsers reach the network by the same proxy
// on a port of loopback.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, isIP, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline, type Duplex, type Writable } from 'node:stream';
import { isHostAllowed } from './rules/policy.ts';
import { isPublicAddress } from '../../network/public-address.ts';

const CONNECT_MS_MAX = 20_000;
const CONNECTIONS_MAX = 256;

export class HostProxy {
  readonly #hosts: readonly string[];
  readonly #allowPrivate: readonly string[];
  readonly #connectMsMax: number;
  readonly #open = new Set<Duplex>();
  #server: Server | undefined;
  #folder: string | undefined;

  /** `allowPrivate`: hosts that may have addresses inside. */
  constructor(hosts: readonly string[], allowPrivate: readonly string[] = [], connectMsMax = CONNECT_MS_MAX) {
    this.#hosts = hosts;
    this.#allowPrivate = allowPrivate;
    this.#connectMsMax = connectMsMax;
  }

  /** Where it listens; null: it does not. */
  get socket(): string | null {
    return this.#folder === undefined ? null : join(this.#folder, 'proxy');
  }

  async open(): Promise<void> {
    if (this.#server !== undefined) return;
    this.#folder = await mkdtemp(join(tmpdir(), 'holdfast-proxy-'));
    // Another user runs the commands. What the socket allows, every user of the machine may do
    // anyway.
    await chmod(this.#folder, 0o711);
    await this.#listen(join(this.#folder, 'proxy'));
    await chmod(join(this.#folder, 'proxy'), 0o666);
  }

  /** Listens on a port of loopback instead; resolves with the port. */
  async openPort(): Promise<number> {
    const server = await this.#listen({ host: '127.0.0.1', port: 0 });
    // A port has no other form.
    return (server.address() as AddressInfo).port;
  }

  async #listen(at: string | { host: string; port: number }): Promise<Server> {
    const server = createServer((asked, answer) => void this.#forward(asked, answer));
    server.on(
      'connect',
      (asked: IncomingMessage, client: Duplex, head: Buffer) => void this.#tunnel(asked, client, head),
    );
    server.on('connection', (socket) => this.#follow(socket));
    server.on('clientError', (_error, socket) => socket.destroy());
    server.maxConnections = CONNECTIONS_MAX;
    server.listen(at);
    await once(server, 'listening');
    server.unref();
    this.#server = server;
    return server;
  }

  async close(): Promise<void> {
    this.#server?.close();
    for (const socket of this.#open) socket.destroy();
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }

  /** `CONNECT host:port`, for https and all else. */
  async #tunnel({ url = '' }: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on('error', () => undefined);
    const [, host = '', port = ''] = /^\[?([^\]]*?)\]?:(\d+)$/.exec(url) ?? [];
    try {
      const upstream = await this.#connect({ host, port: Number(port), client });
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
      upstream.on('error', () => client.destroy());
    } catch (error) {
      client.end(`HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n${(error as Error).message}\n`);
    }
  }

  /** `GET http://host/path`. */
  async #forward(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    try {
      const url = new URL(asked.url ?? '');
      if (url.protocol !== 'http:') throw new Error(`${url.protocol} is not forwarded`);
      const host = url.hostname.replace(/^\[|\]$/g, '');
      const socket = await this.#connect({ host, port: Number(url.port || 80), client: answer });
      const { 'proxy-connection': _hop, 'proxy-authorization': _secret, ...headers } = asked.headers;
      const sent = request(url, {
        method: asked.method,
        headers: { ...headers, host: url.host, connection: 'close' },
        createConnection: () => socket,
      });
      sent.on('response', (got) => {
        answer.writeHead(got.statusCode ?? 502, got.headers);
        pipeline(got, answer, () => undefined);
      });
      sent.on('error', () => answer.destroy());
      asked.pipe(sent);
    } catch (error) {
      answer.writeHead(403, { connection: 'close' }).end(`${(error as Error).message}\n`);
    }
  }

  /**
   * Connects to the address that was judged: a name that answers differently the second time gains
   * nothing. The connection, also one that is not made yet, ends when the client is closed.
   */
  async #connect({ host, port, client }: { host: string; port: number; client: Writable }): Promise<Socket> {
    if (host === '' || !isHostAllowed({ host, port }, this.#hosts))
      throw new Error(`${host}:${port} is not in sandbox.network`);
    const found = isIP(host) === 0 ? await lookup(host, { all: true }) : [{ address: host }];
    const isNamedAddress =
      isIP(host) !== 0 &&
      isHostAllowed(
        { host, port },
        this.#hosts.filter((each) => !each.startsWith('*')),
      );
    const isNamed = isNamedAddress || isHostAllowed({ host, port }, this.#allowPrivate);
    const address = found.map((each) => each.address).find((each) => isNamed || isPublicAddress(each));
    if (address === undefined) throw new Error(`${host} is not on the public internet`);
    // It may have left while the name was looked up.
    if (client.destroyed) throw new Error('the client has left');
    const socket = connect({ host: address, port });
    this.#follow(socket);
    client.on('close', () => socket.destroy(new Error('the client has left')));
    const limit = this.#connectMsMax;
    socket.setTimeout(limit, () => {
      if (!socket.connecting) return;
      socket.destroy(new Error(`${host}:${port} did not accept a connection within ${limit / 1000} s`));
    });
    await once(socket, 'connect');
    return socket;
  }

  #follow(socket: Duplex): void {
    this.#open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#open.delete(socket));
  }
}
