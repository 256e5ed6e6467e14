// What is checked of a request before its key: each of the headers that decide about it is there once, and `Host` names this service. A
// web page can make a browser send requests to a loopback address under a name of its own (DNS rebinding); such a name is refused.
import type { FastifyRequest } from 'fastify';
import { headOf } from '../core/cut-text.ts';
import type { Config } from '../config.ts';
import { isLoopbackHost } from '../network/public-address.ts';
import { Problem } from './problem.ts';

const SINGLE_HEADERS = ['host', 'authorization'];

/** Makes the check; it throws `Problem`. */
export function createCheckHost({ runtime, api }: Pick<Config, 'runtime' | 'api'>): (request: FastifyRequest) => void {
  // An API on another address is reached under names that only the operator knows.
  const isChecking = isLoopbackHost(runtime.host);
  const named = new Set([runtime.host, ...api.hosts].map((host) => host.toLowerCase()));
  if (api.publicUrl !== undefined) named.add(new URL(api.publicUrl).host);
  return (request) => {
    refuseDoubled(request.raw.rawHeaders);
    const host = (hostOfTarget(request.raw.url) ?? request.headers.host ?? '').toLowerCase();
    if (!isChecking || named.has(host) || named.has(nameOf(host)) || isLoopbackHost(nameOf(host))) return;
    throw new Problem(
      'misdirected',
      `The host ${JSON.stringify(headOf(host, 200))} is not allowed. Use localhost or 127.0.0.1, or add the name to api.hosts in the configuration.`,
    );
  };
}

/** The host of an absolute request target (`GET http://host/path`), which takes precedence over the header; null: the target has none. */
function hostOfTarget(target: string | undefined): string | null {
  return /^[a-z][a-z\d+.-]*:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(target ?? '')?.[1] ?? null;
}

/** The host without its port. */
function nameOf(host: string): string {
  return host.replace(/:\d*$/, '');
}

/** Names and values in turn, as they were sent: of a doubled header Node keeps one and drops the other. */
function refuseDoubled(rawHeaders: readonly string[]): void {
  for (const name of SINGLE_HEADERS) {
    const times = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length;
    if (times > 1) {
      throw new Problem('invalid_header', `The header ${name} was sent ${times} times. Send it once.`, {
        errors: [{ path: name, message: 'expected once' }],
      });
    }
  }
}
