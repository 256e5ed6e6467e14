// The settings of crons and heartbeats in the configuration file.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agentOf, ConfigError, loadConfig } from '../../src/config.ts';

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-config-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function load(file: string) {
  await writeFile(join(cwd, 'holdfast.json'), file);
  return loadConfig({ env: {}, cwd });
}

const job = (more: string) => `{cron: {jobs: [{name: "a", payload: {kind: "agentTurn", message: "x"}, ${more}}]}}`;

test('crons and gates are read, durations as texts too', async () => {
  const config = await load(`{
    agents: { defaults: { heartbeat: { every: "30m", when: { command: "git fetch", timeoutSeconds: "20s" } } } },
    cron: { misfire: "skip", jobs: [
      { name: "daily", schedule: { kind: "cron", expr: "0 9 * * *" }, payload: { kind: "agentTurn", message: "Report." }, delivery: { url: "http://127.0.0.1/x" } },
      { name: "steps", schedule: { kind: "every", everyMs: "10m" }, payload: { kind: "systemEvent", text: "x" }, wake: "next-heartbeat" },
    ] },
  }`);
  expect(config.cron).toMatchObject({
    misfire: 'skip',
    jobs: [
      { name: 'daily', delivery: { mode: 'webhook' } },
      { name: 'steps', schedule: { everyMs: 600_000 } },
    ],
  });
  const { every, when } = agentOf(config, 'main').heartbeat;
  expect({ every, when }).toEqual({ every: 1_800_000, when: { command: 'git fetch', timeoutSeconds: 20 } });
});

test.each([
  [job('schedule: {kind: "cron", expr: "61 * * * *"}'), 'cron.jobs[0].schedule.expr'],
  [job('schedule: {kind: "cron", expr: "* * * * *", tz: "Mars/Base"}'), 'cron.jobs[0].schedule.tz'],
  [job('schedule: {kind: "at", at: "soon"}'), 'cron.jobs[0].schedule.at'],
  [job('schedule: {kind: "every", everyMs: 1}'), 'cron.jobs[0].schedule.everyMs'],
  [job('schedule: {kind: "every", everyMs: "1h"}, agentId: "nobody"'), 'cron.jobs[0].agentId'],
  [job('schedule: {kind: "every", everyMs: "1h"}, target: "moon"'), 'cron.jobs[0].target'],
  [
    `{cron: {jobs: [
      {name: "a", schedule: {kind: "every", everyMs: "1h"}, payload: {kind: "systemEvent", text: "x"}},
      {name: "a", schedule: {kind: "every", everyMs: "2h"}, payload: {kind: "systemEvent", text: "x"}}]}}`,
    'cron.jobs[1].name',
  ],
  ['{agents: {defaults: {heartbeat: {every: 10}}}}', 'agents.defaults.heartbeat.every'],
  [
    String.raw`{agents: {defaults: {heartbeat: {when: {command: "a\u0000b"}}}}}`,
    'agents.defaults.heartbeat.when.command',
  ],
  [String.raw`{mcp: {servers: {a: {command: "x", args: ["a\u0000b"]}}}}`, 'mcp.servers.a.args[0]'],
  [String.raw`{mcp: {servers: {a: {command: "x", env: {A: "a\u0000b"}}}}}`, 'mcp.servers.a.env.A'],
  ['{agents: {defaults: {heartbeat: {when: {}}}}}', 'agents.defaults.heartbeat.when'],
  ['{agents: {defaults: {heartbeat: {when: {file: "a", url: "http://x"}}}}}', 'agents.defaults.heartbeat.when'],
  [
    '{agents: {defaults: {heartbeat: {when: {file: "a", timeoutSeconds: 300}}}}}',
    'agents.defaults.heartbeat.when.timeoutSeconds',
  ],
  [
    '{agents: {defaults: {heartbeat: {when: {file: "a"}}}, list: [{id: "b", heartbeat: {when: {url: "http://x"}}}]}}',
    'agents.list[0].heartbeat.when',
  ],
])('%s is refused where it is wrong', async (file, path) => {
  const refused = await load(file).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ConfigError);
  const paths = (refused as ConfigError).issues.map((issue) => issue.path);
  expect(paths).toContain(path);
});
