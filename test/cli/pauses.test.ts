// `holdfast pause`, `resume` and `pauses`, against a real API.
import { expect, test } from 'vitest';
import { useCliRig } from './use-cli-rig.ts';

const { holder, run } = useCliRig();

test('a pause is made, listed, named by why, and ended', async () => {
  expect(await run('pause', '--lane', 'main', '--reason', 'a drill')).toMatchObject({
    code: 0,
    stdout: 'lane main is paused\n',
  });
  await run('pause');
  expect((await run('pauses')).stdout).toMatch(/lane main .*admin .*a drill[^]*everything/);
  expect(JSON.parse((await run('pauses', '--json')).stdout).items).toHaveLength(2);
  const { body } = await holder.rig.post('/v1/sessions/held/messages', { text: 'later' });
  expect((await run('why', body.message.id)).stdout).toContain('admin has paused the lane main: a drill');
  expect(await run('resume', '--lane', 'main')).toMatchObject({
    code: 0,
    stdout: 'lane main is resumed\n',
    stderr: expect.stringContaining('still paused: everything'),
  });
  expect((await run('resume')).stdout).toBe('everything is resumed\n');
  expect((await run('resume')).stdout).toBe('there was no such pause\n');
});

test('each mistake has its exit code: an unknown lane, an unknown agent', async () => {
  expect(await run('pause', '--lane', 'none')).toMatchObject({ code: 2, stderr: expect.stringContaining('--lane') });
  const unknown = await run('pause', '--agent', 'nobody');
  expect(unknown.code).not.toBe(0);
  expect(unknown.stderr).toContain('There is no agent nobody');
});
