// What is checked of the headers of a request before its body is read: those that decide about it are there once, `Host` names this service, and the
// body is in UTF-8 and not compressed. A
// web page can make a browser send requests to a loopback address under a name of its own (DNS rebinding); such a name is refused.
import { MIMEType } from 'node:util';
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

/** Throws `Problem` 415 when the headers name a compression or another charset. */
export function checkEncoding({ headers }: Pick<FastifyRequest, 'headers'>, mayBeGzip = false): void {
  const encoding = headers['content-encoding'];
  const name = encoding?.trim().toLowerCase() ?? 'identity';
  if (encoding !== undefined && name !== 'identity' && !(mayBeGzip && name === 'gzip')) {
    throw refused('Content-Encoding', encoding, 'Send the body without compression.');
  }
  const charset = charsetOf(headers['content-type']);
  if (charset !== null && !/^utf-?8$/i.test(charset)) {
    throw refused('Content-Type', `charset=${charset}`, 'Send the body in UTF-8.');
  }
}

function refused(name: string, value: string, fix: string): Problem {
  return new Problem('unsupported_media_type', `${name} is ${JSON.stringify(headOf(value, 100))}. ${fix}`, {
    errors: [{ path: name, message: fix }],
  });
}

/** Null without one, and for a type that is none: the server refuses that by itself. */
function charsetOf(contentType: string | undefined): string | null {
  try {
    return contentType === undefined ? null : new MIMEType(contentType).params.get('charset');
  } catch {
    return null;
  }
}
