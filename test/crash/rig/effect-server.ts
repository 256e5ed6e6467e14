// Counts the effects of tools: a server outside all workers that records every request. It does not
// merge requests, so an effect that was requested twice counts as two.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HttpEffect } from '../../tools/http-effect-tool.ts';

/** An effect with the time of its request, in milliseconds since the epoch. */
export type CountedEffect = HttpEffect & { at: number };

export interface EffectServer {
  url: string;
  effects: CountedEffect[];
  close(): Promise<void>;
}

/** Starts the server on a free loopback port. */
export async function startEffectServer(): Promise<EffectServer> {
  const effects: CountedEffect[] = [];
  // Workers keep their connections: one that ends while they send a request is an effect that did
  // not happen.
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
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
