// MCP servers in the configuration file: the form of other clients, and faults that name what is
// allowed.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError, loadConfigWithSources, secretsOf, toolPolicyFault } from '../../src/config.ts';

function load(servers: object, more: object = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-mcp-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, 'holdfast.json'), JSON.stringify({ mcp: { servers }, ...more }));
  return { ...loadConfigWithSources({ env: {}, cwd, isTty: false }), cwd };
}

function faultsOf(servers: object): string[] {
  try {
    load(servers);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(({ path, message }) => `${path} ${message}`);
  }
}

test('a server is written as for other clients, and its environment and headers are secrets', () => {
  const { config, settings, cwd } = load({
    github: { command: 'npx', args: ['-y', 'github-mcp'], env: { GITHUB_PAT: 'secret-of-github' }, cwd: './data' },
    wiki: {
      type: 'http',
      url: 'https://wiki.lan/mcp',
      headers: { 'x-team': 'secret-of-team' },
      auth: { token: 'secret-token' },
    },
    own: { command: './server.js', tools: { allow: ['get_*'], create_page: { idempotent: true } } },
  });
  expect(config.mcp.toolsMax).toBe(40);
  expect(config.mcp.servers['github']).toMatchObject({ cwd: join(cwd, 'data'), trust: 'none', timeoutSeconds: 60 });
  expect(config.mcp.servers['own']).toMatchObject({
    command: join(cwd, 'server.js'),
    tools: { allow: ['get_*'], deny: [], create_page: { idempotent: true } },
  });
  const secrets = ['secret-of-github', 'secret-of-team', 'secret-token'];
  expect(secretsOf(config)).toEqual(expect.arrayContaining(secrets));
  for (const secret of secrets) expect(JSON.stringify(settings)).not.toContain(secret);
});

test('each fault of a server names the field and what is allowed', () => {
  expect(
    faultsOf({
      a__b: { command: 'x' },
      both: { command: 'x', url: 'http://127.0.0.1:1/mcp' },
      none: {},
      kind: { type: 'http', command: 'x' },
      mixed: { url: 'http://127.0.0.1:1/mcp', args: ['-y'] },
      foreign: { command: 'x', agents: ['missing'] },
      later: { command: 'x', tools: { pay: { approval: 'maybe' } } },
      Foreign: { command: 'x' },
    }),
  ).toMatchInlineSnapshot(`
    [
      "mcp.servers.a__b is "a__b"; allowed: 1 to 32 letters, digits, - and single _, that begin with a letter and end with a letter or a digit",
      "mcp.servers.later.tools.pay.approval is "maybe"; allowed: "always", "once", "never"",
      "mcp.servers.both is {"command":"x","url":"http://127.0.0.1:1/mcp"}; allowed: "command" with "args" for a server that Holdfast starts, or "url" for one that runs already",
      "mcp.servers.none is null; allowed: "command" with "args" for a server that Holdfast starts, or "url" for one that runs already",
      "mcp.servers.kind.type is "http"; allowed: "stdio" with "command"",
      "mcp.servers.mixed.args is ["0"]; allowed: nothing with "url"",
      "mcp.servers.foreign.agents[0] is "missing"; allowed: the id of an agent (main)",
      "mcp.servers.Foreign is "Foreign"; allowed: a name that differs from "foreign" in more than the case of letters",
    ]
  `);
});

test('a policy may name the tools of a server before they are known', () => {
  const { config } = load({ github: { command: 'x' } }, { tools: { deny: ['github__delete_repo'] } });
  expect(toolPolicyFault(config, { allow: ['GitHub__search'] })).toBeNull();
  expect(toolPolicyFault(config, { allow: ['gitlab__search'] })).toMatchObject({ path: 'tools.allow[0]' });
});

test('approval of a tool is a rule before all others', () => {
  const rules = [{ tools: ['bank__*'], ask: 'never' }];
  const bank = { command: 'x', tools: { 'pay.now': { approval: 'always' }, look: { readOnly: true } } };
  const { config } = load({ bank }, { tools: { approvals: { rules } } });
  expect(config.tools.approvals.rules).toMatchObject([
    { tools: ['bank__pay_now'], ask: 'always', timeout: 86_400_000 },
    rules[0],
  ]);
});

test('the browser is a preset of a server, whose name no other server can have', () => {
  const { config } = load({}, { tools: { browser: { enabled: true, executablePath: './chromium' } } });
  expect(config.mcp.servers['browser']).toMatchObject({ perSession: true, sandbox: 'off', trust: 'none' });
  const loadBoth = () => load({ browser: { command: 'x' } }, { tools: { browser: { enabled: true } } });
  expect(loadBoth).toThrow(
    /tools\.browser\.enabled is true; allowed: false with a server of mcp\.servers that is named/,
  );
});
