// `holdfast bulk` and the paced `holdfast dead`, against a real API and the rounds of a scheduler.
import { expect, test } from 'vitest';
import { runBulkRound } from '../../../src/features/bulk-actions/use-cases.ts';
import { useCliRig } from '../../cli/use-cli-rig.ts';

const { holder, run } = useCliRig();

/** Runs a command while a scheduler works. */
async function runWithRounds(...args: string[]) {
  const running = run(...args);
  let isRunning = true;
  void running.finally(() => (isRunning = false));
  const { service, logger } = holder.rig.context;
  while (isRunning) {
    await runBulkRound({ ...service, logger });
    await new Promise((resolve) => setImmediate(resolve));
  }
  return running;
}

const failed = async (session: string): Promise<string> =>
  (await holder.rig.settle(session, '[[error: 400 message="no"]]')).turnId;

test('failed turns are counted, retried after --yes, and listed', async () => {
  await failed('one');
  await failed('two');
  const dry = await run('bulk', 'run', 'retry', 'turns', '--status', 'failed', '--dry-run');
  expect(dry).toMatchObject({ code: 0, stdout: 'retry 2 turns; nothing was done\n' });
  expect(await run('bulk', 'run', 'retry', 'turns', '--status', 'failed')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--yes'),
  });
  const done = await runWithRounds('bulk', 'run', 'retry', 'turns', '--status', 'failed', '--yes', '--reason', 'again');
  expect(done).toMatchObject({ code: 0, stdout: '100 %: 2 done, 0 skipped, 0 failed of 2\n' });
  const { items } = JSON.parse((await run('bulk', 'list', '--json')).stdout);
  expect(items).toMatchObject([{ action: 'retry', reason: 'again', done: 2 }]);
});

test('skipped items have exit code 9 and a reason', async () => {
  const turn = await failed('three');
  await holder.rig.post(`/v1/turns/${turn}/retry`);
  const done = await runWithRounds('bulk', 'run', 'retry', 'turns', '--ids', turn, '--yes');
  expect(done).toMatchObject({ code: 9, stderr: expect.stringContaining('holdfast bulk show') });
  const { items } = JSON.parse((await run('bulk', 'list', '--json', '--limit', '1')).stdout);
  expect((await run('bulk', 'show', items[0].id)).stdout).toContain('can be retried, and only once');
  expect(await run('bulk', 'cancel', items[0].id)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^completed/),
  });
});

test('dead letters are discarded at a rate, with the reason in the audit log', async () => {
  const turn = await failed('four');
  const { code } = (await holder.rig.get(`/v1/turns/${turn}`)).body.error;
  expect(await run('dead', 'discard', code, '--dry-run')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^discard 1 dead letter \(the newest: .+\); nothing was done\n$/),
  });
  const { items: groups } = JSON.parse((await run('dead', 'list', '--code', code, '--json')).stdout);
  expect(groups).toMatchObject([{ code, count: 1 }]);
  expect(JSON.parse((await run('dead', 'list', '--code', 'none', '--json')).stdout).items).toEqual([]);
  const [letter] = JSON.parse((await run('dead', 'show', code, '--json')).stdout);
  const dry = await run('dead', 'redrive', letter.id, '--dry-run', '--json');
  expect(JSON.parse(dry.stdout)).toEqual({ dryRun: true, total: 1 });
  const done = await runWithRounds('dead', 'discard', code, '--per-second', '100', '--reason', 'known');
  expect(done).toMatchObject({ code: 0, stdout: '100 %: 1 done, 0 skipped, 0 failed of 1\n' });
  const audit = (await holder.rig.get('/v1/audit?action=discardDeadLetters&limit=1')).body.items;
  expect(audit).toMatchObject([{ reason: 'known' }]);
});

test.each([
  [['bulk', 'run', 'retry', 'turns'], 'no option selects objects'],
  [['bulk', 'run', 'retry', 'messages', '--all', '--yes'], 'expected cancel for messages'],
  [['bulk', 'run', 'explode', 'turns', '--all'], 'retry, abort, cancel'],
])('%j is refused with what is allowed', async (args, says) => {
  expect(await run(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(says) });
});
