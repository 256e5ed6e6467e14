// The `gateway` tool in turns on a real database: who has it, what it shows, and that a change of
// the configuration file waits for a person and happens once. Secrets are in none of its results.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isSecret } from '../../../src/config/secrets.ts';
import { fileSchema } from '../../../src/config/schema.ts';
import { mapRawSettings } from '../../../src/config/sources.ts';
import { schemasBelow } from '../../../src/config/check-input.ts';
import { loadConfig } from '../../../src/config.ts';
import { decideApproval } from '../../../src/features/approvals/store/approvals.ts';
import { approvals } from '../../../src/features/approvals/views.ts';
import { createGatewayTool } from '../../../src/features/gateway/gateway-tool.ts';
import type { Service } from '../../../src/kernel/use-cases/service.ts';
import type { ToolCall } from '../../../src/tools/tool.ts';
import { readEntries } from '../../rows/entries.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { createTurnRig } from '../../turn/turn-rig.ts';
import { EVERYTHING } from '../../../src/core/scope.ts';

const ENABLED = { tools: { gateway: { enabled: true } } };

async function gatewayRig(settings: object) {
  const database = await withTestDatabase();
  onTestFinished(() => database.drop());
  const rig = await createTurnRig(database.url, { settings });
  onTestFinished(() => rig.close());
  const service = { config: rig.config, database: rig.database, views: rig.database.views } as Service;
  const worker = rig.worker({ tools: [createGatewayTool(service)] });
  const path = rig.config.runtime.configPath ?? '';
  const say = async (session: string, input: object, more: object = {}) => {
    await rig.send(session, `[[tool: gateway ${JSON.stringify(input)}]] [[reply: done]]`, more);
    return await worker.run(session);
  };
  const lastResult = async (): Promise<string> => {
    const entries = await readEntries(rig, { kind: 'results' }, 'createdAt', 'content');
    return JSON.stringify(entries.toSorted((a, b) => Number(a.createdAt) - Number(b.createdAt)).at(-1)?.content);
  };
  const approve = async (session: string) => {
    const { items } = await approvals.list(
      rig.database.views,
      { status: 'open', scope: EVERYTHING },
      { after: null, limit: 10 },
    );
    const [request] = items;
    if (request === undefined || items.length > 1) throw new Error(`There are ${items.length} requests.`);
    await decideApproval(rig.database, { id: request.id, status: 'approved', by: 'ada', note: null }, null);
    await worker.run(session);
    return request;
  };
  return { rig, path, say, lastResult, approve };
}

const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

test('turns of owners read the state, the settings and their schema; other turns have no gateway', async () => {
  const { rig, say, lastResult, path } = await gatewayRig({ ...ENABLED, owner: { ids: ['42'] } });
  await say('main', { action: 'status' }, { sender: { id: '42' } });
  expect(await lastResult()).toMatch(/Holdfast \d+\.\d+\.\d+ on Node .*, PostgreSQL .*Waiting inputs: \d+/);
  await say('main', { action: 'config.get' });
  expect(await lastResult()).toContain(`sha256 ${sha256(path)}`);
  expect(await lastResult()).toContain('tools.gateway.enabled = true (file)');
  await say('main', { action: 'config.get', path: 'agents.defaults.compaction' });
  expect(await lastResult()).toMatch(/agents\.defaults\.compaction\.reserveTokens = \d+ \(default\)/);
  await say('main', { action: 'config.schema', path: 'agents.list[0].heartbeat' });
  expect(await lastResult()).toContain('activeHours');
  await say('main', { action: 'config.schema', path: 'tools.exce' });
  expect(await lastResult()).toContain('There are: allow, deny, exec');
  const promptOf = (at: number) => JSON.stringify(rig.scripted.requests.at(at)?.body);
  expect(promptOf(-1)).toContain('## Holdfast Self-Update');

  await say('main', { action: 'status' }, { sender: { id: '43' } });
  expect(await lastResult()).toContain('Unknown tool \\"gateway\\"');
  expect(promptOf(-1)).not.toContain('gateway (config.schema)');
});

test('a change waits for an approval that no rule can waive, and is made once (G36)', async () => {
  const rules = [{ tools: ['*'], ask: 'never' }];
  const { path, say, lastResult, approve } = await gatewayRig({
    tools: { gateway: { enabled: true }, approvals: { rules } },
  });
  const [before, text] = [sha256(path), readFileSync(path, 'utf8')];
  const change = { action: 'config.apply', baseHash: before, patch: { tools: { exec: { timeoutSeconds: 7 } } } };
  expect(await say('main', change)).toMatchObject({ kind: 'parked' });
  expect(sha256(path)).toBe(before);
  expect(await approve('main')).toMatchObject({ tool: 'gateway', reasons: ['tool'] });
  expect(await lastResult()).toContain('tools.exec.timeoutSeconds: 120 -> 7 (after a restart)');
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ tools: { exec: { timeoutSeconds: 7 }, gateway: {} } });
  expect(readFileSync(`${path}.previous`, 'utf8')).toBe(text);

  const after = sha256(path);
  await say('main', change);
  await approve('main');
  expect(await lastResult()).toContain('has all of this already. Nothing was changed.');
  await say('main', { ...change, patch: { tools: { exec: null } } });
  await approve('main');
  expect(await lastResult()).toContain('is not the file that the patch was made for');
  expect(sha256(path)).toBe(after);
});

/** A folder with a configuration, and the tool on it. */
function folderWith(file: object) {
  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-gateway-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  const path = join(cwd, 'holdfast.json');
  writeFileSync(path, JSON.stringify(file), { mode: 0o640 });
  const config = loadConfig({ env: { HOLDFAST_CONFIG: path }, cwd, isTty: false });
  const tool = createGatewayTool({ config } as Service);
  return { path, config, run: async (input: object) => await tool.run(input, {} as ToolCall) };
}

test('a patch with a fault changes nothing and names the fault, also one that only a plugin sees', async () => {
  const module = join(import.meta.dirname, '../../plugins/none.ts');
  const { path, run } = folderWith({ tools: { deny: ['exec'] } });
  const baseHash = sha256(path);
  const apply = async (patch: object) => await run({ action: 'config.apply', baseHash, patch });
  expect(await apply({ tools: { exce: {} }, session: { reset: { mode: 'never' } } })).toMatchObject({
    isError: true,
    content: expect.stringMatching(/nothing was changed: .*2 faults[^]*session\.reset\.mode[^]*tools\.exce/),
  });
  expect(await apply({ plugins: [module] })).toMatchObject({ isError: true, content: expect.stringContaining(module) });
  expect(sha256(path)).toBe(baseHash);
  expect(await apply({ tools: { deny: null } })).toMatchObject({ isError: false });
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ tools: {} });
});

test('no result has a secret of the configuration, whichever part is asked for (G31)', async () => {
  const secrets: string[] = [];
  const secret = (form = (text: string) => text): string => {
    const text = form(`secret-of-this-test-${secrets.length + 1}`);
    secrets.push(text);
    return text;
  };
  const signing = (text: string): string => `whsec_${Buffer.from(text).toString('base64')}`;
  const server = { headers: { 'x-key': secret() }, auth: { token: secret() } };
  const { config, run, path } = folderWith({
    owner: { displaySecret: secret() },
    api: { keys: [{ name: 'other', key: `hf_${secret()}${'x'.repeat(40)}` }] },
    channels: {
      webhook: { url: `https://user:${secret()}@example.com/${secret()}?token=${secret()}`, secret: secret(signing) },
    },
    models: {
      providers: {
        anthropic: { apiKey: secret(), headers: { 'x-key': secret() } },
        other: {
          api: 'openai-chat',
          baseUrl: 'https://example.com',
          keys: [{ name: 'a', key: secret() }],
          options: { apiKey: secret() },
        },
      },
    },
    agents: { defaults: { heartbeat: { when: { command: `curl -H 'x-key: ${secret()}' https://example.com` } } } },
    tools: {
      approvals: { webhook: `https://example.com/${secret()}` },
      search: { brave: { apiKey: secret() }, tavily: { apiKey: secret() }, exa: { apiKey: secret() } },
    },
    mcp: {
      servers: {
        far: { url: `https://user:${secret()}@example.com/mcp`, ...server },
        near: { command: 'x', env: { TOKEN: secret() } },
      },
    },
    plugins: { modules: [], entries: { mine: { config: { anything: secret() } } } },
  });
  const written = [...mapRawSettings(config)].filter(([, value]) =>
    secrets.some((text) => JSON.stringify(value).includes(text)),
  );
  const known = schemasBelow(fileSchema, '').filter(({ path: at, isSection }) => !isSection && isSecret(at, 'text'));
  // All providers have the same settings.
  const plain = (at: string): string => at.replaceAll(/\[\d+\]/g, '').replace(/providers\.\w+/, 'providers.any');
  const places = written.map(([at]) => plain(at));
  expect(known.map((each) => each.path).filter((at) => !places.some((place) => place.startsWith(plain(at))))).toEqual(
    [],
  );

  const parts = ['', ...Object.keys(fileSchema.shape), ...written.map(([at]) => at)];
  const inputs = parts.flatMap((part) => [
    { action: 'config.get', path: part },
    { action: 'config.schema', path: part },
  ]);
  const faulty = {
    action: 'config.apply',
    baseHash: sha256(path),
    patch: { models: { providers: { anthropic: { apiKey: 1 } } } },
  };
  const changed = { ...faulty, patch: { models: { providers: { anthropic: { apiKey: secret() } } } } };
  for (const input of [...inputs, faulty, changed, { action: 'config.get', path: 'models' }]) {
    const { content } = await run(input);
    expect(secrets.filter((text) => JSON.stringify(content).includes(text.replace('whsec_', '')))).toEqual([]);
  }
  expect(readFileSync(path, 'utf8')).toContain(secrets.at(-1));
});
