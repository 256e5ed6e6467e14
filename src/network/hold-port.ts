// Keeps the address of a service while it starts: a port that is in use ends the start before
// anything is made, and a client that comes early is asked to come again.
import { createServer } from 'node:http';

export interface HeldPort {
  /** Frees the address for the server that was started meanwhile. Later calls do nothing. */
  release(): Promise<void>;
}

/** This machine cannot listen at the address, for another reason than that it is in use. */
class AddressError extends Error {
  readonly code = 'address_unusable';
  constructor({ host, port }: { host: string; port: number }, cause: Error) {
    super(`cannot listen at ${host}, port ${port}: ${cause.message}`, { cause });
    this.name = 'AddressError';
  }
}

const STARTING = JSON.stringify({
  type: 'about:blank',
  title: 'Service Unavailable',
  status: 503,
  detail: 'Holdfast is starting. Try again in a second.',
  code: 'starting',
});

/**
 * Listens, and answers every request with 503 `starting`. Rejects with `EADDRINUSE`, or with code
 * `address_unusable`. Port 0 needs no holding.
 */
export async function holdPort(address: { host: string; port: number }): Promise<HeldPort> {
  if (address.port === 0) return { release: () => Promise.resolve() };
  const server = createServer((_request, response) => {
    response.writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': '1', connection: 'close' });
    response.end(STARTING);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? error : new AddressError(address, error)),
    );
    server.listen(address, resolve);
  });
  return {
    async release() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
