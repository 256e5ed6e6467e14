import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { modelFinding } from '../../src/cli/doctor/service-checks.ts';
import { loadConfig, modelNotices, type Config } from '../../src/config.ts';
import { formatLines } from '../../workers/start-lines.ts';

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-notices-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function load(file: string, env: Record<string, string> = {}): Promise<Config> {
  await writeFile(join(cwd, 'holdfast.json'), file);
  return loadConfig({ env, cwd });
}

test('the default configuration has nothing to say about its models', async () => {
  expect(modelNotices(await load('{}'), '2026-11-22')).toEqual([]);
});

test('a model that ends is named once, with its day and all places that name it', async () => {
  const config = await load(`{
    agents: { defaults: { model: "old", models: { old: "anthropic/claude-sonnet-4-5" } } },
    cron: { jobs: [{ name: "tea", schedule: { kind: "every", everyMs: 60000 }, target: "isolated",
      payload: { kind: "agentTurn", message: "Tea?", model: "old" } }] },
  }`);
  expect(modelNotices(config, '2026-11-22')).toEqual([
    'anthropic/claude-sonnet-4-5 is deprecated and ends on 2026-11-30. Use another model, such as anthropic/claude-sonnet-5-5. ' +
      'It is the model of agent "main", the alias "old" of agent "main", the cron "tea".',
  ]);
  expect(modelNotices(config, '2026-11-30')[0]).toContain('has ended: its provider announced the end for 2026-11-30');
});

test('the start lines warn of a model that ends', async () => {
  const config = await load('{agents: {defaults: {model: "anthropic/claude-sonnet-4-5"}}}');
  const facts = {
    database: 'embedded',
    queue: 'postgres',
    model: 'anthropic/claude-sonnet-4-5',
    isScripted: false,
  } as const;
  expect(formatLines(config, facts, undefined)).toContainEqual(
    expect.stringMatching(/^warning .*claude-sonnet-4-5 .*2026-11-30/),
  );
  expect(formatLines(await load('{}'), facts, undefined).join('\n')).not.toContain('warning');
});

test('a fallback that ends is named, too', async () => {
  const config = await load('{agents: {defaults: {fallbacks: ["anthropic/claude-sonnet-4-5"]}}}');
  expect(modelNotices(config, '2026-11-22')).toEqual([
    expect.stringMatching(/ends on 2026-11-30.*the fallbacks of agent "main"\.$/),
  ]);
});

test('a window that the model does not have is named', async () => {
  const config = await load(
    '{agents: {defaults: {contextTokens: 1000000}, list: [{id: "main"}, {id: "small", model: "anthropic/claude-haiku-4-5"}]}}',
  );
  expect(modelNotices(config, '2026-11-22')).toEqual([
    'contextTokens of agent "small" is 1000000, but anthropic/claude-haiku-4-5 takes 200000. Lower it, so that transcripts are compacted in time.',
  ]);
});

test('the doctor warns of a model that ends, with its day', async () => {
  const file = '{agents: {defaults: {model: "anthropic/claude-sonnet-4-5"}}}';
  const finding = modelFinding(await load(file, { ANTHROPIC_API_KEY: 'key' }), '2026-11-22');
  expect(finding).toMatchObject({ status: 'warning', reason: expect.stringContaining('ends on 2026-11-30') });
  expect(modelFinding(await load('{}', { ANTHROPIC_API_KEY: 'key' }), '2026-11-22').status).toBe('ok');
});
