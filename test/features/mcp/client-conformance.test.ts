// The protocol's conformance suite for clients, against the workers' own client. Each scenario is a
// server of one configuration: a worker lists its tools and calls them in a turn, and a person logs
// in where the service asks for it. The scenarios that need what Holdfast does not have are listed
// with the reason, and the test fails if one of them passes.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { given } from '../../../src/core/json.ts';
import { completeLogin } from '../../../src/features/mcp/log-in.ts';
import { requestMcpList } from '../../../src/features/mcp/store/servers.ts';
import { listServers, listTools } from '../../../src/features/mcp/views.ts';
import { rigWith, useDatabase } from './mcp-rig.ts';

const SUITE = join(import.meta.dirname, '../../../node_modules/@modelcontextprotocol/conformance/dist/index.js');
const CLIENT = join(import.meta.dirname, 'conformance-client.ts');
/** The suite answers with the way back to this address; no browser follows it. */
const REDIRECT_URL = 'http://127.0.0.1:1/callback';
/**
 * The address of a document about the client, which the suite expects in place of a registration.
 */
const CLIENT_DOCUMENT = 'https://conformance-test.local/client-metadata.json';
const LOGINS_MAX = 2;

const NO_PERSON = 'Holdfast has no login without a person; such a server needs a token in the configuration';
const EXCEPTIONS: Record<string, string> = {
  'elicitation-sep1034-client-defaults': 'Holdfast answers no questions of servers (elicitation)',
  'auth/2025-03-26-oauth-metadata-backcompat':
    'its authorization server names another issuer than itself, which RFC 8414 (section 3.3) has clients refuse',
  'auth/client-credentials-jwt': NO_PERSON,
  'auth/client-credentials-basic': NO_PERSON,
  'auth/cross-app-access-complete-flow': NO_PERSON,
};
/** The scenarios whose server never lets a client in, with what the service says. */
const REFUSED = {
  'auth/resource-mismatch': expect.stringContaining('does not match expected http://localhost:'),
  'auth/scope-retry-limit': expect.stringMatching(
    /^login needed: the server asks for the scope "mcp:admin"; run "holdfast mcp login s\d+"$/,
  ),
};
/** It measures when the client connects again, and warns if a busy machine is 0.2 s late. */
const TIMED = 'sse-retry';

interface Scenario {
  scenario: string;
  server: string;
  context: { client_id?: string; client_secret?: string };
  /** Lets its client end. */
  end: () => void;
}

/**
 * Starts the suite; resolves with its scenarios when all of them run, and with its output when all
 * clients have ended.
 */
async function startSuite() {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-conformance-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const { stdout: list } = await promisify(execFile)(process.execPath, [SUITE, 'list', '--client']);
  const names = [...list.matchAll(/^ {2}- (\S+)/gm)].map(([, name = '']) => name);
  const scenarios: Scenario[] = [];
  const allRun = Promise.withResolvers<Scenario[]>();
  const player = createServer((request, response: ServerResponse) => {
    void json(request).then((body) => {
      scenarios.push({ ...(body as Omit<Scenario, 'end'>), end: () => response.end() });
      if (scenarios.length === names.length) allRun.resolve(scenarios);
    });
  });
  player.listen(0, '127.0.0.1');
  await once(player, 'listening');
  onTestFinished(() => {
    player.closeAllConnections();
    player.close();
  });
  const url = `http://127.0.0.1:${(player.address() as AddressInfo).port}`;
  const command = `${process.execPath} ${CLIENT} ${url}`;
  const args = [SUITE, 'client', '--command', command, '--suite', 'all', '--timeout', '240000'];
  // It exits 1, for the exceptions.
  const ended = promisify(execFile)(process.execPath, args, { cwd: folder }).catch(
    (error: unknown) => error as { stdout: string },
  );
  return { names, scenarios: await allRun.promise, ended };
}

/** A service with the servers of the scenarios, and a person who logs in when it asks for that. */
async function aService(scenarios: readonly Scenario[]) {
  const servers = scenarios.map(({ scenario, server: url, context }, at) => {
    const document = scenario === 'auth/basic-cimd' ? CLIENT_DOCUMENT : undefined;
    const { client_id: clientId = document, client_secret: clientSecret } = context;
    const auth = scenario.startsWith('auth/') ? { type: 'oauth', ...given({ clientId, clientSecret }) } : undefined;
    /** What the service says of it last; null: all has gone well. */
    const fault = null as string | null;
    return { scenario, name: `s${at}`, settings: { url, auth }, logins: 0, fault };
  });
  const configured = Object.fromEntries(servers.map(({ name, settings }) => [name, settings]));
  const rig = await rigWith(configured, { url: await useDatabase() });

  /** Logs in wherever the service asks for it; answers where. */
  async function logIn() {
    const needed = servers.filter(
      ({ fault, logins }) => fault?.includes('login needed') === true && logins < LOGINS_MAX,
    );
    const logins = needed.map(async (server) => {
      const { name, settings } = server;
      const place = { database: rig.database, server: name, url: settings.url, oauth: settings.auth ?? {} };
      server.logins += 1;
      server.fault = null;
      try {
        await completeLogin(place, REDIRECT_URL, visit);
        await requestMcpList(rig.database, name);
      } catch (error) {
        server.fault = (error as Error).message;
      }
    });
    await Promise.all(logins);
    return needed;
  }

  async function listAll(): Promise<void> {
    do {
      await rig.round();
      const listed = await listServers(rig.config, rig.database.views);
      for (const server of servers) server.fault ??= listed.find(({ name }) => name === server.name)?.error ?? null;
    } while ((await logIn()).length > 0);
  }

  async function callAll(): Promise<void> {
    for (let asked = servers; asked.length > 0; asked = await logIn()) {
      const tools = asked.map(async (server) => {
        const [tool] = (await listTools(rig.config, rig.database.views, server.name)) ?? [];
        return tool === undefined ? [] : [{ server, tool: tool.offeredAs, input: { a: 2, b: 3 } }];
      });
      const calls = (await Promise.all(tools)).flat();
      const results = await rig.call(calls, `session-${asked.length}`);
      for (const [at, { server }] of calls.entries()) {
        const { isError = true, text = 'no result' } = results[at] ?? {};
        server.fault = isError ? text : null;
      }
    }
  }
  return { servers, listAll, callAll, disconnect: async () => await rig.part.stop?.() };
}

/** A person's browser: the suite's server allows all, and answers with the way back. */
async function visit(address: URL): Promise<URLSearchParams> {
  const { headers } = await fetch(address, { redirect: 'manual' });
  return new URL(headers.get('location') ?? '').searchParams;
}

test('the conformance suite for clients passes, but for the scenarios that are listed with their reason', async () => {
  const { names, scenarios, ended } = await startSuite();
  const service = await aService(scenarios);
  await service.listAll();
  await service.callAll();
  await service.disconnect();
  for (const { end } of scenarios) end();
  const { stdout } = await ended;
  const line = /^[✓✗] (\S+): (\d+) passed, (\d+) failed(?:, (\d+) warnings)?$/gm;
  const results = [...stdout.matchAll(line)].map(([, name = '', passed, failed, warnings = '0']) => ({
    name,
    isPassed: passed !== '0' && failed === '0' && (warnings === '0' || name === TIMED),
  }));
  expect(results.map(({ name }) => name)).toEqual(names);
  const failed = results.filter(({ isPassed }) => !isPassed).map(({ name }) => name);
  expect(failed, stdout).toEqual(Object.keys(EXCEPTIONS));
  const passed = service.servers.filter(({ scenario }) => !failed.includes(scenario));
  const faults = passed.flatMap(({ scenario, fault }) => (fault === null ? [] : [[scenario, fault]]));
  expect(Object.fromEntries(faults)).toEqual(REFUSED);
});
