// `holdfast mcp login`: prints the address at which a person logs in, waits for the browser to come
// back to this machine, and stores the tokens in the database of the configuration, so that every
// worker has them.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CliError, EXIT, usageError, type ExitCode } from '../../cli/cli-error.ts';
import { loadOrRefuse } from '../../cli/commands/config.ts';
import type { Terminal } from '../../cli/terminal.ts';
import { withDatabase } from '../../cli/with-database.ts';
import type { McpServerSettings } from '../../config.ts';

/** The longest that a person may take. */
const LOGIN_MS = 10 * 60_000;

export async function logIn({ server }: { server: string }, terminal: Terminal): Promise<ExitCode> {
  const { config } = loadOrRefuse(EXIT.badConfiguration);
  const settings = Object.hasOwn(config.mcp.servers, server) ? config.mcp.servers[server] : undefined;
  const { auth, url } = checked(server, settings);
  const { openDatabase } = await import('../../database/database.ts');
  const { requireLayout } = await import('../../database/migrate.ts');
  const { completeLogin } = await import('./log-in.ts');
  const { requestMcpList } = await import('./store/servers.ts');
  return withDatabase(config.runtime, async (found) => {
    await requireLayout(found.url);
    const database = openDatabase({ url: found.url, role: 'login' });
    const listener = await listen();
    try {
      await completeLogin({ database, server, url, oauth: auth }, listener.redirectUrl, async (address) => {
        terminal.print(`Open this address in a browser on this machine, and log in:\n${address.href}`);
        return await listener.answer(AbortSignal.timeout(LOGIN_MS));
      });
      await requestMcpList(database, server);
      terminal.note(`Logged in at ${server}`);
      return EXIT.ok;
    } catch (error) {
      throw new CliError({
        code: 'mcp_login_failed',
        exitCode: EXIT.failed,
        message: `the login at ${server} has failed: ${(error as Error).message}`,
        fix: 'Run the command again, and allow the access in the browser',
      });
    } finally {
      listener.close();
      await database.close();
    }
  });
}

function checked(name: string, settings: McpServerSettings | undefined) {
  const { auth, url } = settings ?? {};
  if (settings === undefined)
    throw usageError(`the configuration has no MCP server ${name}`, 'see "holdfast mcp list"', 'not_found');
  if (auth?.type !== 'oauth' || url === undefined)
    throw usageError(
      `the MCP server ${name} does not log in by OAuth`,
      `set mcp.servers.${name}.auth to {"type": "oauth"}`,
      'no_oauth',
    );
  return { auth, url };
}

/** Where the browser comes back to: on loopback, once. */
async function listen(): Promise<{
  redirectUrl: string;
  answer: (signal: AbortSignal) => Promise<URLSearchParams>;
  close: () => void;
}> {
  const found = Promise.withResolvers<URLSearchParams>();
  found.promise.catch(() => undefined);
  const server: Server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (pathname !== '/callback') return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
    response.end('Holdfast has received the answer. You can close this page.\n');
    found.resolve(searchParams);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    redirectUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    answer(signal) {
      signal.addEventListener('abort', () => found.reject(new Error('no one has logged in within 10 minutes')));
      return found.promise;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
