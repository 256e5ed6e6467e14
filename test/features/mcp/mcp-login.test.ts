// Logging in at an MCP server by OAuth, against a real authorization server: registration, PKCE,
// expiry, renewal by several workers, refusal.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { completeLogin } from '../../../src/features/mcp/log-in.ts';
import { listServers } from '../../../src/features/mcp/views.ts';
import { runCli } from '../../cli/run-cli.ts';
import { rigWith, useDatabase } from './mcp-rig.ts';
import { startOAuthServer, type OAuthRules } from './oauth-server.ts';

/**
 * A service with a server that asks for a login, and a person with a browser that runs its command.
 */
async function aPrivateServer(rules: Partial<OAuthRules> = {}) {
  const server = await startOAuthServer(rules);
  const database = await useDatabase();
  const servers = { wiki: { url: server.url, auth: { type: 'oauth' }, trust: 'hints' } };
  const rig = await rigWith(servers, { url: database });
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-login-'));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  await writeFile(join(dataDir, 'holdfast.json'), JSON.stringify({ mcp: { servers } }));

  async function logIn() {
    const env = { HOLDFAST_DATA_DIR: dataDir, HOLDFAST_DATABASE_URL: database, DATABASE_URL: database };
    return await runCli(['mcp', 'login', 'wiki'], {
      cwd: dataDir,
      env,
      onSpawn: (child) => {
        let said = '';
        child.stdout?.on('data', (chunk: Buffer) => {
          said += chunk.toString();
          const [address] = /^http:\S+(?=\n)/m.exec(said) ?? [];
          if (address !== undefined) {
            said = '';
            void fetch(address);
          }
        });
      },
    });
  }
  /** The server as people see it, once it was asked again. */
  const listed = async () => {
    await rig.round();
    return (await listServers(rig.config, rig.database.views))[0];
  };
  return { ...server, rig, logIn, listed, servers, database };
}

test('after a login, every worker uses the tokens and renews them; what the server refuses needs a login again', async () => {
  const { rig, logIn, listed, provider, servers, database } = await aPrivateServer();
  expect(await listed()).toMatchObject({
    state: 'lost',
    error: expect.stringMatching(/login needed: run "holdfast mcp login wiki"$/),
  });

  const end = await logIn();
  expect(end).toMatchObject({ code: 0, stderr: expect.stringContaining('Logged in at wiki') });
  expect(await listed()).toMatchObject({ state: 'connected', toolCount: 1 });
  expect(await rig.call([{ tool: 'wiki__whoami' }])).toMatchObject([{ isError: false, status: 'done' }]);

  // Several workers renew at the same time. The server ends a login whose refresh token is used
  // twice.
  const others = await Promise.all([rigWith(servers, { url: database }), rigWith(servers, { url: database })]);
  await Promise.all(others.map((other, at) => other.call([{ tool: 'wiki__whoami' }], `warm-${at}`)));
  provider.expireAll();
  await Promise.all([rig, ...others].map((each, at) => each.play([{ tool: 'wiki__whoami' }], `expired-${at}`)));
  expect(await rig.readResults()).toMatchObject([{ isError: false, status: 'done' }]);
  expect(provider.renewals).toBe(1);

  provider.endAll();
  const [refused] = await rig.call([{ tool: 'wiki__whoami' }]);
  expect(refused).toMatchObject({ isError: true, status: 'failed' });
  expect(refused?.text).toMatch(
    /^wiki__whoami: the MCP server wiki cannot be reached, so nothing was done: login needed: run/,
  );
});

test('tokens that are about to end are renewed before a call, and a login that a person refuses changes nothing', async () => {
  const { rig, logIn, listed, provider } = await aPrivateServer({ expiresInSeconds: 10 });
  await logIn();
  expect(await listed()).toMatchObject({ state: 'connected' });
  expect(await rig.call([{ tool: 'wiki__whoami' }])).toMatchObject([{ isError: false, status: 'done' }]);
  expect(provider.renewals).toBeGreaterThan(0);

  provider.rules.isAllowed = false;
  const end = await logIn();
  expect(end).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the login at wiki has failed: access_denied'),
  });
  expect(await rig.call([{ tool: 'wiki__whoami' }])).toMatchObject([{ isError: false, status: 'done' }]);
});

test('a login asks for the scopes of the configuration; without them, for those that the server names', async () => {
  const { url } = await startOAuthServer({ scopes: ['read', 'write'] });
  const { database } = await rigWith({}, { url: await useDatabase() });
  async function askedScope(oauth: { scope?: string }): Promise<string | null> {
    let scope: string | null = null;
    const browse = (address: URL): Promise<URLSearchParams> => {
      scope = address.searchParams.get('scope');
      return Promise.resolve(new URLSearchParams());
    };
    const login = completeLogin({ database, server: 'wiki', url, oauth }, 'http://127.0.0.1:1/callback', browse);
    await expect(login).rejects.toThrow('the browser came back from another login');
    return scope;
  }
  expect(await askedScope({ scope: 'read' })).toBe('read');
  expect(await askedScope({})).toBe('read write');
});
