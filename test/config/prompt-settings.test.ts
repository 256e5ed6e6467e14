// The settings that appear in prompts: defaults, other spellings, and refused values.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agentOf, ConfigError, loadConfig, loadConfigWithSources, type Config } from '../../src/config.ts';

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-config-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function load(file: object): Promise<Config> {
  await writeFile(join(cwd, 'holdfast.json'), JSON.stringify(file));
  return loadConfig({ env: {}, cwd, isTty: false });
}

async function faultsOf(file: object): Promise<string[]> {
  const error: unknown = await load(file).catch((fault: unknown) => fault);
  return error instanceof ConfigError ? error.issues.map(({ path, message }) => `${path} ${message}`) : [];
}

test('the defaults add nothing to the prompt that the operator has not asked for', async () => {
  const config = await load({});
  expect(config).toMatchObject({
    owner: { ids: [], display: 'raw' },
    sandbox: { enabled: false, workspaceAccess: 'read-write' },
    docs: { enabled: true, path: expect.stringMatching(/\/docs$/) },
    tts: { enabled: false },
    reactions: { mode: 'minimal' },
    reasoning: { enabled: false },
    memory: { citations: 'auto' },
    heartbeat: { enabled: true },
  });
  expect(config.channels.platforms).toEqual({});
  expect(agentOf(config, 'main')).toMatchObject({
    promptMode: 'full',
    bootstrapWarning: 'once',
    promptContribution: { sectionOverrides: {} },
    chatContextPlace: 'stable',
  });
});

test('every key may be written with underscores', async () => {
  const config = await load({
    agents: {
      defaults: {
        prompt_mode: 'minimal',
        prompt_contribution: { stable_prefix: 'p', section_overrides: { tool_call_style: 't' } },
        chat_context_place: 'dynamic',
        bootstrap_max_chars: 10,
      },
      list: [{ id: 'main', system_prompt_override: 'o' }],
    },
    workspace: { path: 'w', bootstrap_files: ['A.md'] },
    owner: { phone: '+1', display_secret: 's' },
    sandbox: { enabled: true, runtime: 'external', host_mount: '/h', browser_url: 'http://b' },
    channels: { my_chat: { group_activation: 'always', dm_history_limit: 3 } },
  });
  expect(agentOf(config, 'main')).toMatchObject({
    promptMode: 'minimal',
    promptContribution: { stablePrefix: 'p', sectionOverrides: { toolCallStyle: 't' } },
    chatContextPlace: 'dynamic',
    bootstrapMaxChars: 10,
    systemPromptOverride: 'o',
  });
  expect(config.workspace.bootstrapFiles).toEqual(['A.md']);
  expect(config.sandbox).toMatchObject({ hostMount: '/h', browserUrl: 'http://b' });
  // Names of channels are names: they stay as they are.
  expect(config.channels.platforms).toEqual({ my_chat: { groupActivation: 'always', dmHistoryLimit: 3 } });
});

test('prompts speak of a sandbox only where there is one: required, or stated by the operator', async () => {
  const [missing] = await faultsOf({ sandbox: { enabled: true } });
  expect(missing).toMatch(/^sandbox\.enabled .*"required".*"external".*the worker itself runs inside a container/);
  const [other] = await faultsOf({ sandbox: { runtime: 'docker' } });
  expect(other).toMatch(/^sandbox\.runtime .*"docker".*"bubblewrap", "container", "external".*plugin/);
  expect(await faultsOf({ sandbox: { runtime: 'container' } })).toEqual([expect.stringMatching(/^sandbox\.image /)]);
  expect(await faultsOf({ sandbox: { network: ['pypi.org', 'https://x.org'] } })).toEqual([
    expect.stringMatching(/^sandbox\.network/),
  ]);
  const required = { tools: { exec: { sandbox: 'required' } }, sandbox: { enabled: true, network: ['*.pypi.org'] } };
  expect((await load(required)).sandbox).toMatchObject({
    enabled: true,
    runtime: 'bubblewrap',
    network: ['*.pypi.org'],
  });
  expect((await load({ sandbox: { enabled: true, runtime: 'external' } })).sandbox.enabled).toBe(true);
});

test('the sections that the prompt repeats after a compaction are headings without their marks', async () => {
  const sections = async (list: string[]) =>
    agentOf(await load({ agents: { defaults: { compaction: { post_compaction_sections: list } } } }), 'main').compaction
      .postCompactionSections;
  expect(agentOf(await load({}), 'main').compaction.postCompactionSections).toEqual(['Session Startup', 'Red Lines']);
  expect(await sections(['House Rules'])).toEqual(['House Rules']);
  expect(await sections([])).toEqual([]);
  expect(
    await faultsOf({ agents: { defaults: { compaction: { postCompactionSections: ['## House Rules', 'a\nb'] } } } }),
  ).toEqual([
    expect.stringContaining('agents.defaults.compaction.postCompactionSections[0] '),
    expect.stringContaining('agents.defaults.compaction.postCompactionSections[1] '),
  ]);
});

describe('channels', () => {
  test('are configured beside the webhook, by the names that messages use', async () => {
    const { channels } = await load({ channels: { webhook: { url: 'http://w' }, telegram: { label: 'Telegram' } } });
    expect(channels.webhook.url).toBe('http://w');
    expect(channels.platforms).toEqual({ telegram: { label: 'Telegram' } });
  });

  test('are shown where the file has them', async () => {
    await writeFile(join(cwd, 'holdfast.json'), '{channels: {telegram: {enabled: false}}}');
    const { settings } = loadConfigWithSources({ env: {}, cwd });
    expect(settings.filter(({ path }) => path.startsWith('channels.telegram'))).toEqual([
      {
        path: 'channels.telegram.enabled',
        value: false,
        isSecret: false,
        source: 'file',
        at: `${join(cwd, 'holdfast.json')}:1`,
      },
    ]);
  });

  test.each([
    [{ telegram: 3 }, 'channels.telegram is 3; allowed: an object'],
    [
      { telegram: { reactions: 'many' } },
      'channels.telegram.reactions is "many"; allowed: "off", "minimal", "extensive"',
    ],
    [{ telegram: { colour: 1 } }, 'channels.telegram.colour is not a known key'],
    [
      { telegram: { messageHints: ['a\nb'] } },
      'channels.telegram.messageHints[0] is "a\\nb"; allowed: a text of one line',
    ],
    [{ telegram: { label: 'a\nb' } }, 'channels.telegram.label is "a\\nb"; allowed: a text of one line'],
  ])('%j is refused', async (channels, fault) => {
    expect(await faultsOf({ channels })).toEqual([expect.stringContaining(fault)]);
  });
});

test('citations are on or off', async () => {
  expect((await load({ memory: { citations: 'off' } })).memory).toEqual({ citations: 'off' });
  expect(await faultsOf({ memory: { citations: 'on' } })).toEqual(['memory.citations is "on"; allowed: "auto", "off"']);
});

test('the owner’s phone number is one of the owner’s ids', async () => {
  expect((await load({ owner: { phone: '+1', ids: ['2', '+1'] } })).owner.ids).toEqual(['+1', '2']);
});

test('paths are relative to the file', async () => {
  expect((await load({ docs: { path: 'd' } })).docs.path).toBe(join(cwd, 'd'));
});
