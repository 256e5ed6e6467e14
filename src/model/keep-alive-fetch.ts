// The `fetch` that the SDK calls through: node:http with kept-alive connections instead of the global fetch. For a streamed
// answer it hands out the socket's own stream, which costs half the CPU of a web stream and lets hundreds of calls run at once.
import http from 'node:http';
import https from 'node:https';

/** How much of an error's body is read; the rest is dropped with its connection. */
const ERROR_BODY_BYTES_MAX = 1024 * 1024;
/** How many idle connections are kept per provider for the next calls, and for how long. */
const FREE_SOCKETS_MAX = 256;
const FREE_SOCKET_MS_MAX = 60_000;

/** The headers of a successful answer that anybody reads, the SDK or we. */
const HEADERS_READ = ['content-type', 'request-id', 'anthropic-workspace-id'];

/** A successful answer whose body is read from `incoming` alone: its web body is empty. */
export class StreamedResponse extends Response {
  readonly incoming: http.IncomingMessage;

  constructor(incoming: http.IncomingMessage) {
    super(null, { status: incoming.statusCode ?? 0, headers: headersOf(incoming, HEADERS_READ) });
    this.incoming = incoming;
    // An abort may destroy it before its reader has come; an error event that nobody hears ends the process.
    incoming.on('error', () => {});
  }
}

/**
 * Makes a `fetch` for bodies of text or bytes with connections of its own. 2xx answers are `StreamedResponse`s, all others are complete
 * when the promise fulfils. It follows no redirects. An abort of the signal destroys the connection at any point.
 */
export function createKeepAliveFetch(): typeof fetch {
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

  return (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const isTls = url.protocol === 'https:';
    const body = typeof init.body === 'string' || init.body instanceof Uint8Array ? init.body : '';
    const request = (isTls ? https : http).request({
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port,
      path: url.pathname + url.search,
      method: init.method ?? 'GET',
      headers: { ...Object.fromEntries(headersIn(init)), 'content-length': Buffer.byteLength(body) },
      agent: isTls ? tlsAgent : plainAgent,
      ...(init.signal ? { signal: init.signal } : undefined),
    });
    return new Promise((resolve, reject) => {
      request.on('error', reject);
      request.on('response', (incoming) => {
        const isSuccess = incoming.statusCode !== undefined && incoming.statusCode >= 200 && incoming.statusCode < 300;
        if (isSuccess) resolve(new StreamedResponse(incoming));
        else readErrorResponse(incoming).then(resolve, reject);
      });
      request.end(body);
    });
  };
}

/** Node's proxy settings (NODE_USE_ENV_PROXY) as an option; Node gives them to its own agents only. */
function inheritedProxy(): Pick<http.AgentOptions, 'proxyEnv'> {
  // The property is documented but missing in the types.
  const { proxyEnv } = (http.globalAgent as http.Agent & { options: http.AgentOptions }).options;
  return proxyEnv ? { proxyEnv } : {};
}

function headersIn(init: RequestInit): Headers {
  return init.headers instanceof Headers ? init.headers : new Headers(init.headers);
}

async function readErrorResponse(incoming: http.IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > ERROR_BODY_BYTES_MAX) break;
  }
  const status = incoming.statusCode ?? 0;
  // A web response with status 304 may have no body.
  return new Response(status === 304 ? null : Buffer.concat(chunks), { status, headers: headersOf(incoming) });
}

function headersOf(incoming: http.IncomingMessage, names = Object.keys(incoming.headers)): [string, string][] {
  return names.flatMap((name) => {
    const value = incoming.headers[name];
    return value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]];
  });
}
