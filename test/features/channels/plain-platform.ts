// A platform for tests, as a package brings one: it asks an HTTP server on loopback who the bot is.
// The token is what the server checks.
import { PlatformError, type OpenPlatform } from '../../../src/features/channels/platform.ts';

export const openPlatform: OpenPlatform = ({ token, baseUrl }) => {
  async function ask(path: string, signal: AbortSignal): Promise<unknown> {
    const answer = await fetch(`${baseUrl}${path}`, { headers: { authorization: token }, signal });
    if (answer.status === 401) throw new PlatformError('unauthorized', 'the token is not valid', { status: 401 });
    return answer.json();
  }
  return {
    name: 'plain',
    textLimit: { max: 4_096, measure: (markdown) => markdown.length },
    identify: async (signal) => (await ask('/me', signal)) as { id: string; name: string },
    check: async (signal) => (await ask('/problems', signal)) as string[],
    send: () => Promise.reject(new PlatformError('refused', 'it sends nothing')),
  };
};
