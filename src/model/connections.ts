// Connections to a provider: kept alive for the next calls, without deadlines of their own.
import http from 'node:http';
import type { ClientOptions } from '@anthropic-ai/sdk';
import { Agent, EnvHttpProxyAgent, fetch, type Dispatcher } from 'undici';

/** How long an idle connection is kept for the next call, in milliseconds. */
const IDLE_CONNECTION_MS_MAX = 60_000;

/** A pool of connections, through the proxy of the environment if there is one. */
export function createPool(): Dispatcher {
  const poolOptions = { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: IDLE_CONNECTION_MS_MAX };
  return usesProxyFromEnvironment() ? new EnvHttpProxyAgent(poolOptions) : new Agent(poolOptions);
}

/**
 * What a client of the SDK needs to send its requests: its own pool of connections. The `fetch` of
 * Node gives up a response that sends nothing for 300 s; which version of `undici` it is depends on
 * that of Node, and a pool works only with the `fetch` of its own version. It follows no redirects:
 * a key must not be sent to another host.
 */
export function connectionOptions(): Pick<ClientOptions, 'fetch' | 'fetchOptions'> {
  return {
    // It is the function that Node's own `fetch` is made from; only its types are declared twice.
    fetch: fetch as unknown as typeof globalThis.fetch,
    fetchOptions: { dispatcher: createPool(), redirect: 'manual' },
  };
}

/** Whether Node was started with NODE_USE_ENV_PROXY, which reaches only Node's own agents. */
function usesProxyFromEnvironment(): boolean {
  // The property is documented but missing in the types.
  const { options } = http.globalAgent as http.Agent & { options: http.AgentOptions };
  return options.proxyEnv !== undefined;
}
