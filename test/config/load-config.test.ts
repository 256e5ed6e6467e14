import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig, loadConfigWithSources, modelFault, secretsOf, type Config } from '../../src/config.ts';

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-config-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function load(file: string | Uint8Array, env: Record<string, string> = {}): Promise<Config> {
  await writeFile(join(cwd, 'holdfast.json'), file);
  return loadConfig({ env, cwd, isTty: false });
}

test('the workspaces are where the link of the data directory leads; a link that leads nowhere is refused', async () => {
  const link = join(cwd, '.holdfast/workspaces');
  const folder = join(cwd, 'outside');
  await mkdir(folder);
  await mkdir(join(cwd, '.holdfast'));
  await symlink(folder, link);
  const { config, settings } = loadConfigWithSources({ env: {}, cwd });
  expect(config.workspace.path).toBe(join(folder, 'workspace'));
  expect(settings.find(({ path }) => path === 'workspace.path')).toMatchObject({ source: 'default' });
  await rm(folder, { recursive: true });
  expect(() => loadConfig({ env: {}, cwd })).toThrow(
    `workspace.path is in ${folder}, which ${link} leads to; allowed: a folder that exists`,
  );
  expect((await load('{workspace: {path: "w"}}')).workspace.path).toBe(join(cwd, 'w'));
});

describe('without a file and with an empty environment', () => {
  test('the environment has the documented defaults', () => {
    const { runtime } = loadConfig({ env: {}, cwd, isTty: false });
    expect(runtime).toEqual({
      dataDir: join(cwd, '.holdfast'),
      configPath: null,
      host: '127.0.0.1',
      port: 7420,
      leaseMs: 15_000,
      reconcileMs: 1000,
      concurrency: { main: 64, subagent: 64, cron: 16, batch: 64 },
      logLevel: 'info',
      logFormat: 'json',
      logFiles: { count: 10, bytes: 10_000_000 },
    });
  });

  test('agents have the documented defaults', () => {
    const { defaults, list } = loadConfig({ env: {}, cwd }).agents;
    expect(list).toEqual([{ id: 'main' }]);
    expect(defaults).toMatchObject({
      model: 'anthropic/claude-sonnet-5-5',
      promptMode: 'full',
      thinking: 'off',
      timeoutSeconds: 600,
      maxSteps: 100,
      bootstrapMaxChars: 20_000,
      bootstrapTotalMaxChars: 150_000,
      bootstrapWarning: 'once',
      contextTokens: 200_000,
      llm: { idleTimeoutSeconds: 120 },
      contextPruning: {
        mode: 'off',
        ttl: 300_000,
        keepLastAssistants: 3,
        softTrimRatio: 0.3,
        hardClearRatio: 0.5,
        minPrunableToolChars: 50_000,
        softTrim: { maxChars: 4000, headChars: 1500, tailChars: 1500 },
        hardClear: { enabled: true, placeholder: '[compacted: tool output removed to free context]' },
      },
      compaction: {
        reserveTokens: 20_000,
        keepRecentTokens: 20_000,
        timeoutSeconds: 300,
        aggregateWaitSeconds: 60,
        maxAttempts: 2,
      },
      heartbeat: { every: 0, ackMaxChars: 300, target: 'none', dedupeHours: 24 },
      subagents: {
        maxSpawnDepth: 1,
        maxChildrenPerSession: 5,
        maxConcurrent: 64,
        runTimeoutSeconds: 0,
        announceDebounce: 1000,
      },
    });
  });

  test('all other settings have the documented defaults', () => {
    const config = loadConfig({ env: {}, cwd });
    expect(config.messages.queue).toEqual({
      mode: 'collect',
      byChannel: {},
      debounceMs: 1000,
      cap: 20,
      drop: 'wait',
      gatherMsMax: 10_000,
    });
    expect(config.session).toEqual({
      orphanedPrompts: 'hide',
      resetTriggers: ['/new', '/reset'],
      reset: { mode: 'none', atHour: 4, idleMinutes: 60 },
      agentToAgent: { maxPingPongTurns: 5 },
      dmScope: 'channel-peer',
    });
    expect(config.workspace).toEqual({
      path: join(cwd, '.holdfast/workspace'),
      bootstrapFiles: [
        'AGENTS.md',
        'SOUL.md',
        'TOOLS.md',
        'IDENTITY.md',
        'USER.md',
        'HEARTBEAT.md',
        'BOOTSTRAP.md',
        'MEMORY.md',
      ],
    });
    expect(config.cron).toEqual({ enabled: true, misfire: 'run_once', maxCatchUp: 5, jobs: [] });
    expect(config.tools.loopDetection.unknownToolThreshold).toBe(3);
    expect(config.tools.fetch).toEqual({ enabled: true, timeoutSeconds: 30, maxBytes: 2_097_152, allowPrivate: [] });
    expect(config.tools.message).toEqual({ enabled: true, channels: [] });
    expect(config.agents.defaults.harness).toEqual({ runtime: 'auto', fallback: 'built-in' });
    expect(config.limits.bodyBytes).toBe(1_048_576);
    expect(config.shutdown.graceMs).toBe(30_000);
  });
});

describe('the file', () => {
  test('is JSON5: comments, bare names, trailing commas', async () => {
    const config = await load(`// ours\n{ lanes: { main: 7, }, }`);
    expect(config.lanes).toEqual({ main: 7, subagent: 64, cron: 16, batch: 64 });
  });

  test('may begin with a byte order mark', async () => {
    expect((await load('\uFEFF{"lanes": {"cron": 1}}')).lanes.cron).toBe(1);
  });

  test('may be in UTF-16 with a byte order mark, as shells of Windows write it', async () => {
    expect((await load(Buffer.from('\uFEFF{"lanes": {"cron": 1}}', 'utf16le'))).lanes.cron).toBe(1);
  });

  test('keeps the defaults of omitted settings, at every depth', async () => {
    const { contextPruning } = (await load('{agents: {defaults: {contextPruning: {softTrim: {maxChars: 9000}}}}}'))
      .agents.defaults;
    expect(contextPruning.softTrim).toEqual({ maxChars: 9000, headChars: 1500, tailChars: 1500 });
    expect(contextPruning.keepLastAssistants).toBe(3);
  });

  test('replaces lists as a whole', async () => {
    const { tools } = (await load('{agents: {defaults: {contextPruning: {tools: {allow: ["exec"]}}}}}')).agents.defaults
      .contextPruning;
    expect(tools).toEqual({ allow: ['exec'], deny: ['memory_*'] });
  });

  test('takes snake_case names for camelCase ones', async () => {
    const config = await load(
      '{agents: {defaults: {prompt_mode: "minimal", max_steps: 5}}, workspace: {bootstrap_files: ["A.md"]}}',
    );
    expect(config.agents.defaults.promptMode).toBe('minimal');
    expect(config.agents.defaults.maxSteps).toBe(5);
    expect(config.workspace.bootstrapFiles).toEqual(['A.md']);
  });

  test('keeps names that are the user’s own as they are', async () => {
    const config = await load(
      '{agents: {defaults: {models: {my_model: "anthropic/claude-opus"}}}, messages: {queue: {byChannel: {my_chat: "steer"}}}}',
    );
    expect(config.agents.defaults.models).toEqual({ my_model: 'anthropic/claude-opus' });
    expect(config.messages.queue.byChannel).toEqual({ my_chat: 'steer' });
  });

  test('knows every knob of the prompt by its documented name', async () => {
    const config = await load(`{
      sandbox: {enabled: true, runtime: "external"}, owner: {phone: "+1555"}, tts: {enabled: true}, reactions: {mode: "extensive"},
      reasoning: {enabled: true}, heartbeat: {enabled: false}, workspace: {path: "/srv/w"} }`);
    expect(config).toMatchObject({
      sandbox: { enabled: true, runtime: 'external' },
      owner: { phone: '+1555' },
      tts: { enabled: true },
      reactions: { mode: 'extensive' },
      reasoning: { enabled: true },
      heartbeat: { enabled: false },
      workspace: { path: '/srv/w' },
    });
  });

  test.each([
    ['{messages: {queue: {debounceMs: "2s"}}}', (c: Config) => c.messages.queue.debounceMs, 2000],
    ['{messages: {queue: {debounceMs: 250}}}', (c: Config) => c.messages.queue.debounceMs, 250],
    ['{agents: {defaults: {heartbeat: {every: "30m"}}}}', (c: Config) => c.agents.defaults.heartbeat.every, 1_800_000],
    ['{agents: {defaults: {heartbeat: {every: "0m"}}}}', (c: Config) => c.agents.defaults.heartbeat.every, 0],
    ['{agents: {defaults: {timeoutSeconds: "10m"}}}', (c: Config) => c.agents.defaults.timeoutSeconds, 600],
    ['{agents: {defaults: {timeoutSeconds: 90}}}', (c: Config) => c.agents.defaults.timeoutSeconds, 90],
    ['{session: {reset: {idleMinutes: "2h"}}}', (c: Config) => c.session.reset.idleMinutes, 120],
    [
      '{agents: {defaults: {heartbeat: {dedupeHours: "1d"}}}}',
      (c: Config) => c.agents.defaults.heartbeat.dedupeHours,
      24,
    ],
    ['{events: {retention: "30d"}}', (c: Config) => c.events.retention, 2_592_000_000],
  ])('reads the duration of %s in the unit of its name', async (file, read, expected) => {
    expect(read(await load(file))).toBe(expected);
  });

  test('has paths that start at the file', async () => {
    const config = await load(
      '{workspace: {path: "w"}, agents: {list: [{id: "main", workspace: "../other"}]}, plugins: ["./p.ts"]}',
    );
    expect(config.workspace.path).toBe(join(cwd, 'w'));
    expect(config.agents.list[0]?.workspace).toBe(join(cwd, '../other'));
    expect(config.plugins).toEqual({ modules: [join(cwd, 'p.ts')], entries: {} });
  });

  test('may write API keys short, then named by their place', async () => {
    const config = await load('{api: {keys: ["abc-0123456789abc", {name: "ops", key: "def-0123456789def"}]}}');
    expect(config.api.keys).toEqual([
      { name: 'key-1', key: 'abc-0123456789abc' },
      { name: 'ops', key: 'def-0123456789def' },
    ]);
  });
});

describe('the environment', () => {
  test('wins over the file where both say something', async () => {
    const config = await load(
      '{lanes: {main: 2}, models: {providers: {anthropic: {apiKey: "from-file", baseUrl: "http://file"}}}}',
      {
        HOLDFAST_CONCURRENCY: 'main=9, cron=1',
        ANTHROPIC_API_KEY: ' from-env ',
      },
    );
    expect(config.runtime.concurrency).toEqual({ main: 9, subagent: 64, cron: 1, batch: 64 });
    expect(config.runtime.anthropicApiKey).toBe('from-env');
    expect(config.runtime.anthropicBaseUrl).toBe('http://file');
  });

  test('counts empty variables as unset, as compose files leave them', async () => {
    const { runtime } = await load('{}', { DATABASE_URL: '', REDIS_URL: ' ', HOLDFAST_PORT: '' });
    expect(runtime.port).toBe(7420);
    expect(runtime).not.toHaveProperty('databaseUrl');
    expect(runtime).not.toHaveProperty('redisUrl');
  });

  test('may set one concurrency for all lanes', async () => {
    const { concurrency } = (await load('{}', { HOLDFAST_CONCURRENCY: '16' })).runtime;
    expect(concurrency).toEqual({ main: 16, subagent: 16, cron: 16, batch: 16 });
  });

  test('names another file, from the working directory', async () => {
    await writeFile(join(cwd, 'other.json5'), '{lanes: {main: 1}}');
    const config = loadConfig({ env: { HOLDFAST_CONFIG: 'other.json5' }, cwd });
    expect(config.lanes.main).toBe(1);
    expect(config.runtime.configPath).toBe(join(cwd, 'other.json5'));
  });
});

test('a configuration cannot be changed', () => {
  const config = loadConfig({ env: {}, cwd });
  expect(() => {
    config.agents.defaults.contextPruning.softTrim.maxChars = 1;
  }).toThrow(TypeError);
});

test('every setting names its source, and secrets do not show (G31)', async () => {
  const secret = 'sk-ant-very-secret';
  await writeFile(
    join(cwd, 'holdfast.json'),
    '{lanes: {main: 2}, channels: {webhook: {secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}}',
  );
  const env = { ANTHROPIC_API_KEY: secret, DATABASE_URL: 'postgres://u:pw-of-database@h/d', HOLDFAST_PORT: '1' };
  const { settings } = loadConfigWithSources({ env, cwd });
  const sources = new Map(settings.map((setting) => [setting.path, setting.source]));
  expect(sources.get('lanes.main')).toBe('file');
  expect(sources.get('lanes.cron')).toBe('default');
  expect(sources.get('runtime.port')).toBe('environment');
  expect(sources.get('runtime.anthropicApiKey')).toBe('environment');
  const shown = JSON.stringify(settings);
  for (const value of [secret, 'pw-of-database', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])
    expect(shown).not.toContain(value);
});

test('the secrets of a configuration are those that a log must not have (G31)', async () => {
  const config = await load(
    '{api: {keys: ["key-of-file-0123456789"]}, models: {providers: {anthropic: {headers: {"x-proxy": "header-value"}}}}}',
    {
      HOLDFAST_API_KEY: 'admin-key-0123456789',
      DATABASE_URL: 'postgres://u:pw-of-database@h/d',
    },
  );
  expect(secretsOf(config).toSorted()).toEqual([
    'admin-key-0123456789',
    'header-value',
    'key-of-file-0123456789',
    'pw-of-database',
  ]);
});

test('the token of a bot in a file is a secret, too', async () => {
  await writeFile(join(cwd, 'token'), 'token-of-the-file\n');
  const accounts = `{main: {tokenFile: "${join(cwd, 'token')}"}, other: {tokenFile: "/nowhere"}}`;
  const config = await load(`{channels: {telegram: {adapter: "telegram", accounts: ${accounts}}}}`);
  expect(secretsOf(config)).toContain('token-of-the-file');
});

test('a provider with an address serves models beside the built-in one', async () => {
  const backup = '{baseUrl: "http://127.0.0.1:9", apiKey: "key-of-the-backup", headers: {a: "b"}, maxRetries: 2}';
  const config = await load(
    `{agents: {defaults: {fallbacks: ["backup/m"]}}, models: {providers: {backup: ${backup}}}}`,
  );
  expect(config.models.providers['backup']).toMatchObject({ baseUrl: 'http://127.0.0.1:9', maxRetries: 2 });
  expect(secretsOf(config)).toContain('key-of-the-backup');
  expect(modelFault(config, 'main', 'backup/other')).toBeNull();
  expect(modelFault(config, 'main', 'nowhere/m')).toContain('"backup/<model>"');
});

test.each([
  ['openai', 'https://api.openai.com/v1', 'family is "openai"'],
  ['openai', 'https://gateway.example/v1/', 'family is "openai"'],
  ['google', 'https://generativelanguage.googleapis.com/v1beta', 'family is "google"'],
  ['mistral', 'https://api.mistral.ai', 'family is "mistral"'],
  [undefined, 'https://api.openai.com/v1', 'baseUrl is "api.openai.com"'],
])('a provider of the family %s at %s cannot work, and is refused with what to do', async (family, baseUrl, fault) => {
  const file = JSON.stringify({ models: { providers: { other: { baseUrl, ...(family && { family }) } } } });
  const error = await load(file).then(
    () => '',
    (refused: Error) => refused.message,
  );
  expect(error).toContain(`models.providers.other.${fault}`);
  expect(error).toContain('registerTransport');
});

test('a gateway with the Messages API may have any family', async () => {
  const file = '{models: {providers: {other: {baseUrl: "https://gateway.example/gemini", family: "google"}}}}';
  expect((await load(file)).models.providers['other']).toMatchObject({ family: 'google' });
});

test('providers of plugins have a family and an encoding, but no key', async () => {
  const config = await load(
    '{models: {providers: {local: {family: "google", toolCallArgumentsEncoding: "html-entities"}}}}',
  );
  expect(config.models.providers['local']).toEqual({ family: 'google', toolCallArgumentsEncoding: 'html-entities' });
  expect(config.models.providers.anthropic.maxRetries).toBe(5);
  await expect(load('{models: {providers: {local: {apiKey: "x"}}}}')).rejects.toThrow('models.providers.local.baseUrl');
  await expect(load('{models: {providers: {local: {family: "martian"}}}}')).rejects.toThrow(
    'models.providers.local.family is "martian"',
  );
});
