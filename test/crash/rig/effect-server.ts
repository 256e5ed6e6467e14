// What tools do to the world, counted: a server outside all workers that remembers every effect it was asked for. It forgives
// nothing and merges nothing, so an effect that was asked for twice is two.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HttpEffect } from '../../tools/http-effect-tool.ts';

/** An effect with the time at which it was asked for, in milliseconds since the epoch. */
export type CountedEffect = HttpEffect & { at: number };

export interface EffectServer {
  url: string;
  effects: CountedEffect[];
  close(): Promise<void>;
}

/** Starts the server on a free loopback port. */
export async function startEffectServer(): Promise<EffectServer> {
  const effects: CountedEffect[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const effect = JSON.parse(Buffer.concat(chunks).toString()) as HttpEffect;
      effects.push({ ...effect, at: Date.now() });
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`effect ${effect.key} happened`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    effects,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
