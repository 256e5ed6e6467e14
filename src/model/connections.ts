// Connections to a provider: node:http with kept-alive sockets, and the socket's own stream for the answer. Compared with a web
// `fetch` that is half the CPU of a call, so that hundreds of calls can run at the same time.
import http from 'node:http';
import https from 'node:https';

export type Incoming = http.IncomingMessage;

export interface Outgoing {
  url: URL;
  method: string;
  /** Without the length of the body. */
  headers: Record<string, string>;
  body: Uint8Array;
}

/** How many idle connections are kept per provider for the next calls, and for how long. */
const FREE_SOCKETS_MAX = 256;
const FREE_SOCKET_MS_MAX = 60_000;

/**
 * Sends a request and resolves with the head of its answer, of any status; the caller reads the body. It follows no redirects. An abort
 * destroys the connection, until the whole body has arrived. Rejects with the error of the network, or with the reason of the abort.
 */
export type Send = (outgoing: Outgoing, signal: AbortSignal) => Promise<Incoming>;

/** Opens a pool of connections. */
export function openConnections(): Send {
  const agentOptions = {
    keepAlive: true,
    maxSockets: Number.POSITIVE_INFINITY,
    maxFreeSockets: FREE_SOCKETS_MAX,
    // Applies to idle connections only: the agent ends those, while a request in flight is never timed out here.
    timeout: FREE_SOCKET_MS_MAX,
    // NODE_USE_ENV_PROXY reaches only Node's own agents.
    ...inheritedProxy(),
  };
  const plainAgent = new http.Agent(agentOptions);
  const tlsAgent = new https.Agent(agentOptions);

  return (outgoing, signal) => {
    if (signal.aborted) return Promise.reject(signal.reason);
    const { protocol, hostname, port, pathname, search } = outgoing.url;
    const isTls = protocol === 'https:';
    const request = (isTls ? https : http).request({
      hostname: hostname.replace(/^\[|\]$/g, ''),
      port,
      path: pathname + search,
      method: outgoing.method,
      headers: { ...outgoing.headers, 'content-length': String(outgoing.body.byteLength) },
      agent: isTls ? tlsAgent : plainAgent,
    });
    request.end(outgoing.body);
    return headOf(request, signal);
  };
}

// Apart from the sending, so that nothing that waits for the answer holds the body: it may be long, and the wait, too.
function headOf(request: http.ClientRequest, signal: AbortSignal): Promise<Incoming> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason);
      request.destroy();
    };
    signal.addEventListener('abort', abort, { once: true });
    request.on('close', () => signal.removeEventListener('abort', abort));
    request.on('error', reject);
    request.on('response', (incoming: Incoming) => {
      // An abort may destroy it before it has a reader; an error event without a listener ends the process.
      incoming.on('error', () => {});
      resolve(incoming);
    });
  });
}

/** Node's proxy settings (NODE_USE_ENV_PROXY) as an option; Node gives them to its own agents only. */
function inheritedProxy(): Pick<http.AgentOptions, 'proxyEnv'> {
  // The property is documented but missing in the types.
  const { proxyEnv } = (http.globalAgent as http.Agent & { options: http.AgentOptions }).options;
  return proxyEnv ? { proxyEnv } : {};
}
