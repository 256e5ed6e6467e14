// Where models are asked: at the provider, or at a scripted model of this process.
import type { Config } from '../src/config.ts';
import type { Role } from './load-modules.ts';

export interface ModelEndpoint {
  apiKey: string;
  baseUrl?: string;
  isScripted: boolean;
}

/** Without a key a worker or scheduler starts its own model server with the same protocol: the client code is the same. */
export async function modelEndpointOf(
  config: Config,
  roles: readonly Role[],
  enders: { push: (end: () => Promise<unknown>) => unknown },
): Promise<ModelEndpoint> {
  const { anthropicApiKey, anthropicBaseUrl } = config.runtime;
  if (anthropicApiKey !== undefined) {
    return {
      apiKey: anthropicApiKey,
      isScripted: false,
      ...(anthropicBaseUrl === undefined ? {} : { baseUrl: anthropicBaseUrl }),
    };
  }
  if (anthropicBaseUrl !== undefined) return { apiKey: 'none', baseUrl: anthropicBaseUrl, isScripted: false };
  if (!roles.includes('worker') && !roles.includes('scheduler')) return { apiKey: 'none', isScripted: true };
  const { startScriptedModel } = await import('../scripted-model/scripted-model.ts');
  const scripted = await startScriptedModel({ host: '127.0.0.1', port: 0 });
  enders.push(() => scripted.close());
  return { apiKey: 'scripted', baseUrl: scripted.url, isScripted: true };
}
