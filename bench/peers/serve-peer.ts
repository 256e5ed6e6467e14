// A peer as a service: a process with an HTTP API that stores a message, runs its turn, and answers
// when the turn is done. It is asked in the same way as Holdfast is, so both sides pay for a
// process and a request.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createFloorModel, type AskFloorModel } from '../floor/floor-model.ts';
import type { FloorMessage } from '../floor/floor-database.ts';
import { benchToolSpec } from '../rig/prompts.ts';

export interface PeerParts {
  databaseUrl: string;
  redisUrl: string;
  ask: AskFloorModel;
}

export interface PeerService {
  /** Makes idle sessions that begin with this history. */
  seed(count: number, history: FloorMessage[]): Promise<number[]>;
  /** Stores the message and resolves with the reply when the turn is on disk. */
  runTurn(session: number, text: string): Promise<string>;
}

/**
 * Opens the peer on the servers that the environment names, listens, and reports its address to the
 * parent process.
 */
export async function servePeer(open: (parts: PeerParts) => Promise<PeerService>): Promise<void> {
  const peer = await open({
    databaseUrl: variable('DATABASE_URL'),
    redisUrl: variable('REDIS_URL'),
    ask: createFloorModel(variable('MODEL_URL'), benchToolSpec),
  });
  const server = createServer((request, response) => {
    answer(peer, request).then(
      (body) => response.end(JSON.stringify(body)),
      (error: unknown) => response.writeHead(500).end(JSON.stringify({ error: String(error) })),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // The bench closes the channel when it is done or has ended.
  process.on('disconnect', () => process.exit(0));
  // A server that listens on a port has an address with a port.
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

async function answer(peer: PeerService, request: IncomingMessage): Promise<object> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  // Only the bench asks, and it sends what these two requests need.
  const body = JSON.parse(Buffer.concat(chunks).toString());
  if (request.url === '/sessions') return { sessions: await peer.seed(body.count, body.history) };
  return { reply: await peer.runTurn(body.session, body.text) };
}

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set. Start this with \`npm run bench -- --peers\`.`);
  return value;
}
