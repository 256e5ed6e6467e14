// A request to a URL that an outsider may have chosen (G30). The address is judged where the
// connection is made, on what the name resolves to for that very connection, so a name that answers
// differently the second time gains nothing. A redirect is answered as it is and never followed:
// the caller makes a new request, which is judged like the first.
import { lookup as resolve, type LookupAddress } from 'node:dns';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';

export interface GuardedRequest {
  url: URL;
  method: 'GET' | 'POST';
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Decides about each address that the host has; called for every connection, must not throw. */
  mayReach: (address: string) => boolean;
  signal: AbortSignal;
}

/** None of the addresses of a host may be reached. */
export class AddressRefusedError extends Error {
  readonly code = 'address_refused';
  constructor(host: string) {
    super(`${host} is not on the public internet`);
    this.name = 'AddressRefusedError';
  }
}

/**
 * Sends one request and resolves with the head of its answer; the caller reads or destroys the
 * body. Rejects with the signal's reason, with `AddressRefusedError` before anything was sent, or
 * with the error of the connection.
 */
export function sendGuarded(request: GuardedRequest): Promise<IncomingMessage> {
  const { url, method, headers, body, mayReach, signal } = request;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // An address is not looked up, so it is judged here.
  if (isIP(host) !== 0 && !mayReach(host)) return Promise.reject(new AddressRefusedError(url.host));
  const { promise, resolve: answer, reject } = Promise.withResolvers<IncomingMessage>();
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  // A new connection: one that was kept open would have been checked for another request.
  const options = {
    method,
    agent: false,
    headers: { ...headers, ...length },
    lookup: lookupFor(url, mayReach),
    signal,
  };
  const sent = send(url, options);
  sent.on('response', answer);
  sent.on('error', (error) => reject(signal.aborted ? signal.reason : error));
  sent.end(body);
  return promise;
}

/**
 * True when a list of hosts names the host of a URL, alone (`wiki.lan`) or with its port
 * (`wiki.lan:8080`).
 */
export function isHostListed({ hostname, port, protocol }: URL, hosts: readonly string[]): boolean {
  const portInUse = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  return hosts.some((host) => host === hostname || host === `${hostname}:${portInUse}`);
}

/** Resolves a name to the addresses that may be reached; an error when it has none. */
function lookupFor(url: URL, mayReach: (address: string) => boolean): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, '', 0);
      const usable = found.filter(({ address }) => mayReach(address));
      const [first] = usable;
      if (first === undefined) return done(new AddressRefusedError(url.host), '', 0);
      if (options.all === true) (done as unknown as (error: null, addresses: LookupAddress[]) => void)(null, usable);
      else done(null, first.address, first.family);
    });
  };
}
