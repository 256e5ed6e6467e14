// Goal: a poll is created once, and only when it is worth a model call; otherwise a row has the
// reason. Method: agents of a configuration on a real database, polls that are made due, and rounds
// of schedulers without their clock.
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig, type Config } from '../../../src/config.ts';
import { newId } from '../../../src/ids.ts';
import { enqueueSystemEvent } from '../../../src/kernel/inbox/system-events.ts';
import { readDatabaseTime } from '../../../src/database/database-time.ts';
import { claimPolls } from '../../../src/features/heartbeats/store/heartbeats.ts';
import { createLogger } from '../../../src/logger.ts';
import {
  openPolls,
  syncHeartbeats,
  type HeartbeatParts,
} from '../../../src/features/heartbeats/schedule-heartbeats.ts';
import { readDoorbells, removeDoorbells } from '../../rows/doorbells.ts';
import { readEvents } from '../../rows/events.ts';
import {
  changeHeartbeatStates,
  changeHeartbeats,
  countHeartbeats,
  readHeartbeatStates,
  readHeartbeats,
  removeHeartbeatStates,
  removeHeartbeats,
} from '../../rows/heartbeats.ts';
import { changeInputs, countInputs, readInputs } from '../../rows/inputs.ts';
import { changeSessions } from '../../rows/sessions.ts';
import { ago, atMost, not, now } from '../../rows/table.ts';
import { makeDuePolls, schedulerParts } from '../crons/cron-rig.ts';
import { createStoreRig, type StoreRig } from '../../store/store-rig.ts';
import { NO_SANDBOX, testUnless } from '../../tools/machine-sandbox.ts';

let rig: StoreRig;
let dir: string;
let server: Server;
let served: string;

beforeAll(async () => {
  rig = await createStoreRig();
  dir = await mkdtemp(join(tmpdir(), 'holdfast-heartbeat-'));
  server = createServer((_request, answer) => void answer.end(served));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(async () => {
  server.close();
  await rig.drop();
  await rm(dir, { recursive: true, force: true });
});
beforeEach(async () => {
  served = 'one';
  await removeHeartbeats(rig.database.views);
  await removeHeartbeatStates(rig.database.views);
  await settleSessions();
});

let agents = 0;

/** A configuration of one agent with this heartbeat, and its workspace. */
async function configOf(
  heartbeat: object,
  more: object = {},
): Promise<{ config: Config; agentId: string; workspace: string }> {
  const agentId = `agent-${(agents += 1)}`;
  const workspace = join(dir, agentId);
  // As a start makes it, before anything is polled.
  for (const folder of [workspace, `${workspace}-data`]) await mkdir(folder);
  const settings = {
    agents: { list: [{ id: agentId, workspace, heartbeat: { every: '1h', ...heartbeat } }] },
    ...more,
  };
  await writeFile(join(workspace, 'holdfast.json'), JSON.stringify(settings));
  const config = loadConfig({
    env: { HOLDFAST_CONFIG: join(workspace, 'holdfast.json'), HOLDFAST_DATA_DIR: `${workspace}-data` },
    cwd: workspace,
  });
  return { config, agentId, workspace };
}

/** A scheduler, when a poll of every known agent is due. */
async function withDuePolls(config: Config, more: Partial<HeartbeatParts> = {}) {
  const parts = { ...schedulerParts(rig.database, config), ...more };
  await syncHeartbeats(parts, await readDatabaseTime(rig.database));
  await makeDue();
  return parts;
}

/** One poll of every known agent, as if it were due. */
async function pollOnce(config: Config, more: Partial<HeartbeatParts> = {}) {
  const parts = await withDuePolls(config, more);
  await makeDuePolls(parts);
  return parts;
}

function makeDue() {
  return changeHeartbeatStates(rig.database.views, { nextAt: not(null) }, { nextAt: ago('1 second') });
}

async function lastPoll() {
  const poll = (await readHeartbeats(rig)).at(-1);
  if (poll === undefined) throw new Error('There is no poll.');
  return poll;
}

/** Ends the turn that the last poll began, so that its session is free again. */
async function settleSessions(): Promise<void> {
  await changeInputs(rig.database.views, { status: 'waiting' }, { status: 'silent', settledAt: now });
  await changeSessions(rig.database.views, {}, { waiting: 0 });
  await removeDoorbells(rig.database.views);
}

test('a due poll is an input of the main session, with its ring and its event', async () => {
  const { config, agentId } = await configOf({ target: 'none' });
  const parts = await pollOnce(config);
  const poll = await lastPoll();
  expect(poll).toMatchObject({ agentId: agentId, status: 'fired', trigger: 'interval', reason: null });
  const [input] = await readInputs(rig, { id: poll.messageId! });
  expect(input).toMatchObject({
    kind: 'heartbeat',
    status: 'waiting',
    body: { deliver: null, text: expect.stringContaining('HEARTBEAT_OK') },
  });
  expect(parts.rings).toEqual([expect.objectContaining({ kind: 'heartbeat', sessionId: poll['sessionId'] })]);
  const events = await readEvents(rig, { type: 'heartbeat.fired', sessionId: poll['sessionId'] }, 'data');
  expect(events).toHaveLength(1);
  // The next one is an interval later, and missed polls are not made up for.
  expect(await readHeartbeatStates(rig, { nextAt: atMost(now) })).toEqual([]);
});

test('one of many schedulers creates it (G20)', async () => {
  const { config } = await configOf({});
  await withDuePolls(config);
  await Promise.all(Array.from({ length: 8 }, () => makeDuePolls(schedulerParts(rig.database, config))));
  const polls = await readHeartbeats(rig, {}, 'status');
  expect(polls).toEqual([{ status: 'fired' }]);
});

test('a poll that a crashed scheduler had claimed is created by another one, once', async () => {
  const { config } = await configOf({});
  await withDuePolls(config);
  const dead = { owner: 'dead', leaseMs: 60_000, ids: [newId<string>()], checking: [] };
  expect(await claimPolls(rig.database, dead)).toHaveLength(1);
  await makeDuePolls(schedulerParts(rig.database, config));
  expect(await lastPoll()).toMatchObject({ status: 'claimed', owner: 'dead' });
  await changeHeartbeats(rig.database.views, {}, { leaseExpiresAt: now });
  await Promise.all([
    makeDuePolls(schedulerParts(rig.database, config)),
    makeDuePolls(schedulerParts(rig.database, config)),
  ]);
  expect(await readHeartbeats(rig, {}, 'status')).toEqual([{ status: 'fired' }]);
  expect(
    await readInputs(
      rig,
      { kind: 'heartbeat', status: 'waiting', causeKey: `heartbeat:${String((await lastPoll())['id'])}` },
      'id',
    ),
  ).toHaveLength(1);
});

describe('a poll is left out, as a row with its reason', () => {
  async function reasonOf(config: Config): Promise<unknown> {
    await pollOnce(config);
    const poll = await lastPoll();
    expect(poll).toMatchObject({ status: 'skipped', messageId: null, settledAt: expect.any(Date) });
    return poll['reason'];
  }

  test('busy', async () => {
    const { config } = await configOf({});
    await pollOnce(config);
    expect(await reasonOf(config)).toBe('busy');
  });

  test('quiet-hours', async () => {
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
    const { config } = await configOf({ activeHours: { start: inHours(2), end: inHours(4), timezone: 'UTC' } });
    expect(await reasonOf(config)).toBe('quiet-hours');
  });

  test('empty-heartbeat-file', async () => {
    const { config, workspace } = await configOf({});
    await writeFile(join(workspace, 'HEARTBEAT.md'), '# Heartbeat\n\n- [ ]\n');
    expect(await reasonOf(config)).toBe('empty-heartbeat-file');
  });

  test('nothing-due', async () => {
    const { config, workspace } = await configOf({});
    await writeFile(
      join(workspace, 'HEARTBEAT.md'),
      'tasks:\n- name: mail\n  interval: 1h\n  prompt: Look at the mail.\n',
    );
    await pollOnce(config);
    const poll = await lastPoll();
    const [input] = await readInputs(rig, { id: poll.messageId! }, 'body');
    expect(input?.['body']).toMatchObject({ text: expect.stringContaining('- mail: Look at the mail.') });
    await settleSessions();
    expect(await reasonOf(config)).toBe('nothing-due');
  });

  test('disabled', async () => {
    const { config } = await configOf({});
    await pollOnce(config);
    await settleSessions();
    await makeDue();
    // Another scheduler has a newer configuration.
    await makeDuePolls(schedulerParts(rig.database, { ...config, heartbeat: { enabled: false } }));
    expect(await lastPoll()).toMatchObject({ status: 'skipped', reason: 'disabled' });
  });
});

test('a task that cannot be read is named in the poll and in the log', async () => {
  const { config, workspace } = await configOf({});
  await writeFile(
    join(workspace, 'HEARTBEAT.md'),
    'tasks:\n- name: mail\n  interval: 90 minutes\n  prompt: Look at the mail.\n',
  );
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  await pollOnce(config, { logger: createLogger({ level: 'info', format: 'json', name: 'test', destination }) });
  const [input] = await readInputs(rig, { id: (await lastPoll()).messageId! }, 'body');
  const fault = 'line 2: interval of the task "mail" is "90 minutes"; allowed: a duration';
  expect(input?.['body']).toMatchObject({ text: expect.stringContaining(`\n- ${fault}`) });
  expect(lines).toContainEqual(
    expect.objectContaining({ faults: [expect.stringContaining(fault)], msg: expect.stringContaining('HEARTBEAT.md') }),
  );
});

describe('the gate', () => {
  async function outcome(config: Config): Promise<string> {
    await pollOnce(config);
    const { status, reason } = await lastPoll();
    await settleSessions();
    return status === 'fired' ? 'fired' : String(reason);
  }

  test('of a file lets a poll through when the content has changed', async () => {
    const { config, workspace } = await configOf({ when: { file: 'inbox.txt' } });
    expect(await outcome(config)).toBe('unchanged');
    expect(await outcome(config)).toBe('unchanged');
    await writeFile(join(workspace, 'inbox.txt'), 'a letter');
    expect(await outcome(config)).toBe('fired');
    expect(await outcome(config)).toBe('unchanged');
    await writeFile(join(workspace, 'inbox.txt'), 'a letter');
    expect(await outcome(config)).toBe('unchanged');
  });

  test('of a file fails for a pipe in its place, and does not wait for its other end', async () => {
    const { config, workspace } = await configOf({ when: { file: 'inbox.txt' } });
    execFileSync('mkfifo', [join(workspace, 'inbox.txt')]);
    expect(await outcome(config)).toBe('gate-failed');
    expect((await lastPoll())['detail']).toContain('inbox.txt is not a regular file');
    await rm(join(workspace, 'inbox.txt'));
    expect(await outcome(config)).toBe('unchanged');
  });

  test('of one agent that takes its whole time delays no other agent', async () => {
    const slow = await configOf({ when: { command: 'sleep 60', timeoutSeconds: 30 } });
    const quick = await configOf({});
    const list = [...slow.config.agents.list, ...quick.config.agents.list];
    const config = { ...slow.config, agents: { ...slow.config.agents, list } };
    const stopped = new AbortController();
    const statusOf = async (agentId: string) => (await readHeartbeats(rig, { agentId }, 'status')).at(-1)?.status;
    const parts = await withDuePolls(config, { signal: stopped.signal });
    const polls = openPolls(parts);
    await polls.start();
    await expect.poll(() => statusOf(quick.agentId)).toBe('fired');
    expect(await statusOf(slow.agentId)).toBe('claimed');
    stopped.abort();
    await polls.ended();
    expect(await statusOf(slow.agentId)).toBe('claimed');
  });

  test('of a command checks its output and its exit code', async () => {
    const { config, workspace } = await configOf({ when: { command: 'ls; test ! -e broken' } });
    expect(await outcome(config)).toBe('unchanged');
    await writeFile(join(workspace, 'new'), '');
    expect(await outcome(config)).toBe('fired');
    expect(await outcome(config)).toBe('unchanged');
  });

  testUnless(NO_SANDBOX, 'of a command runs in the sandbox of a workspace behind a symbolic link (G30)', async () => {
    const when = { command: `test ! -e /root && pwd > place && cat word` };
    const { config, workspace } = await configOf({ when }, { tools: { exec: { sandbox: 'required' } } });
    await rename(workspace, `${workspace}-real`);
    await symlink(`${workspace}-real`, workspace);
    await writeFile(join(workspace, 'word'), 'one');
    expect(await outcome(config)).toBe('unchanged');
    expect(await readFile(join(workspace, 'place'), 'utf8')).toBe(`${workspace}-real\n`);
    await writeFile(join(workspace, 'word'), 'two');
    expect(await outcome(config)).toBe('fired');
  });

  test('of a URL checks the answer, on private addresses only where the configuration allows it (G30)', async () => {
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const when = { url: `http://${host}/state` };
    const open = await configOf({ when }, { tools: { fetch: { allowPrivate: [host] } } });
    expect(await outcome(open.config)).toBe('unchanged');
    served = 'two';
    expect(await outcome(open.config)).toBe('fired');
    const closed = await configOf({ when });
    expect(await outcome(closed.config)).toBe('gate-failed');
    expect((await lastPoll())['detail']).toContain('not on the public internet');
  });

  test('that cannot be checked is reported in time, and loses nothing', async () => {
    const { config, workspace } = await configOf({
      when: { command: 'test -e slow && sleep 60; cat word', timeoutSeconds: 1 },
    });
    // On a busy machine the command can take longer than its second without the file, too; then the
    // next poll checks it.
    const nextOutcome = () => expect.poll(() => outcome(config));
    await writeFile(join(workspace, 'word'), 'one');
    await nextOutcome().toBe('unchanged');
    await writeFile(join(workspace, 'slow'), '');
    expect(await outcome(config)).toBe('gate-failed');
    expect((await lastPoll())['detail']).toBe('took longer than 1 s');
    await rm(join(workspace, 'slow'));
    await writeFile(join(workspace, 'word'), 'two');
    await nextOutcome().toBe('fired');
  });

  test('keeps what it read for the next time when the session turns out to be busy', async () => {
    const { config, workspace } = await configOf({ when: { file: 'x' } });
    expect(await outcome(config)).toBe('unchanged');
    await writeFile(join(workspace, 'x'), 'changed');
    await changeSessions(rig, { key: `agent:${config.agents.list[0]?.id}:main` }, { waiting: 1 });
    expect(await outcome(config)).toBe('busy');
    expect(await outcome(config)).toBe('fired');
  });

  test('is passed by an event that a user waits for', async () => {
    const { config, agentId } = await configOf({ when: { file: 'x' } });
    expect(await outcome(config)).toBe('unchanged');
    const sessionId = (await lastPoll())['sessionId'] as never;
    await enqueueSystemEvent(rig.database, {
      id: newId(),
      sessionId,
      text: 'ended',
      contextKey: 'exec:1',
      isTrusted: true,
    });
    expect(await outcome(config)).toBe('fired');
    const [input] = await readInputs(rig, { id: (await lastPoll()).messageId! }, 'body');
    expect(input?.['body']).toMatchObject({
      text: expect.stringContaining('A command that ran in the background has ended.'),
    });
    expect(agentId).toBe(config.agents.list[0]?.id);
  });
});

test('a poll that this scheduler claimed without receiving the answer is created by its next round', async () => {
  const { config } = await configOf({});
  const parts = await withDuePolls(config);
  await claimPolls(rig.database, { owner: parts.owner, leaseMs: 60_000, ids: [newId<string>()], checking: [] });
  await makeDuePolls(parts);
  expect(await readHeartbeats(rig, {}, 'status')).toEqual([{ status: 'fired' }]);
});

test('a thousand idle agents with an unchanged gate call no model', async () => {
  const workspace = await mkdtemp(join(dir, 'fleet-'));
  const list = Array.from({ length: 1000 }, (_, n) => ({ id: `idle-${n}`, workspace }));
  const settings = { agents: { defaults: { heartbeat: { every: '1m', when: { file: 'state' } } }, list } };
  await writeFile(join(workspace, 'holdfast.json'), JSON.stringify(settings));
  const config = loadConfig({
    env: { HOLDFAST_CONFIG: join(workspace, 'holdfast.json'), HOLDFAST_DATA_DIR: `${workspace}-data` },
    cwd: workspace,
  });
  const parts = schedulerParts(rig.database, config);
  await syncHeartbeats(parts, await readDatabaseTime(rig.database));
  const before = await countInputs(rig);
  for (let round = 1; round <= 2; round += 1) {
    await makeDue();
    await Promise.all([makeDuePolls(parts), makeDuePolls(schedulerParts(rig.database, config))]);
  }
  expect(await countHeartbeats(rig)).toBe(2000);
  expect(await countHeartbeats(rig, { status: 'skipped', reason: 'unchanged' })).toBe(2000);
  expect(await countInputs(rig)).toBe(before);
  expect(await readDoorbells(rig, {}, 'sessionId')).toEqual([]);
});
