// Ports for servers that a test starts as processes of their own.
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Where ports are looked for: below the ports that systems give to connections and to listeners
 * without a port of their own, so that none of those takes a port between the look and the start of
 * the server.
 */
const PORT_MIN = 10_000;
const PORTS = 20_000;
const TRIES_MAX = 100;

/**
 * A loopback port on which no process listens. Two concurrent calls almost never get the same one.
 */
export async function findFreePort(): Promise<number> {
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const port = PORT_MIN + Math.floor(Math.random() * PORTS);
    if (await isFree(port)) return port;
  }
  throw new Error(`none of ${TRIES_MAX} ports from ${PORT_MIN} to ${PORT_MIN + PORTS - 1} was free`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
