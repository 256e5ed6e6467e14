// Warnings to the operator about the address on which the API listens.
import type { Config } from '../src/config.ts';
import { isLoopbackHost } from '../src/network/public-address.ts';

/** Beyond this machine everything is sent in the clear, keys too, unless a proxy in front of the API speaks TLS. */
export function listenWarnings({
  runtime: { host },
  api: { publicUrl },
}: {
  runtime: Pick<Config['runtime'], 'host'>;
  api: Pick<Config['api'], 'publicUrl'>;
}): string[] {
  if (isLoopbackHost(host) || publicUrl?.startsWith('https://') === true) return [];
  return [
    `The API listens on ${host} without TLS: API keys and messages can be read on the network. ` +
      'Put a proxy with TLS in front of it and set api.publicUrl to its https address, or set HOLDFAST_HOST=127.0.0.1.',
  ];
}
