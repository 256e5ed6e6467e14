// `holdfast keys` and `holdfast open`, against a real API.
import { expect, test } from 'vitest';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { useCliRig } from '../../cli/use-cli-rig.ts';

const { holder, runWith } = useCliRig();
const run = (args: string[], key = ADMIN_KEY, env: Record<string, string> = {}) =>
  runWith(args, { env: { HOLDFAST_API_KEY: key, ...env } });

test('a key is made, used, listed and revoked', async () => {
  const made = await run(['keys', 'create', 'night-shift', '--expires', '30d']);
  expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('role viewer') });
  const key = made.stdout.trim();
  expect(await run(['turns', 'list'], key)).toMatchObject({ code: 0 });

  const refused = await run(['send', 'main', 'Hello'], key);
  expect(refused).toMatchObject({
    code: 10,
    stdout: '',
    stderr: expect.stringContaining('this request needs operator'),
  });

  const { items } = JSON.parse((await run(['keys', 'list', '--json'])).stdout);
  expect(items).toMatchObject([{ name: 'night-shift', role: 'viewer', revokedAt: null }]);
  expect(await run(['keys', 'revoke', 'night-shift'])).toMatchObject({ code: 0 });
  expect((await run(['keys', 'list'])).stdout).toMatch(/night-shift +viewer +revoked/);
  expect(await run(['turns', 'list'], key)).toMatchObject({ code: 10 });
  expect(await run(['keys', 'revoke', 'night-shift'])).toMatchObject({ code: 5 });
});

test('an invalid key is refused with the allowed values', async () => {
  expect(await run(['keys', 'create', 'ada', '--role', 'root'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('"viewer", "operator", "admin"'),
  });
  expect(await run(['keys', 'create', 'ada', '--expires', 'soon'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('30d'),
  });
  expect(await run(['keys', 'create', 'Ada Lovelace'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('name'),
  });
});

test('the dashboard opens with an address that signs one browser in and has no key in it', async () => {
  const url = await holder.rig.listen();
  const printed = await run(['open', '/turns', '--print']);
  expect(printed).toMatchObject({ code: 0, stderr: expect.stringContaining('within a minute') });
  const opened = new URL(printed.stdout.trim());
  expect(opened.href.startsWith(`${url}/turns#code=`)).toBe(true);
  expect(printed.stdout).not.toContain(ADMIN_KEY);
  const answer = await fetch(`${url}/v1/auth/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: opened.hash.slice('#code='.length) }),
  });
  expect(answer.status).toBe(204);
});

test('without a program that opens addresses, the address is printed; a path elsewhere is refused', async () => {
  expect(await run(['open'], ADMIN_KEY, { PATH: '' })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/#code=/),
  });
  expect(await run(['open', '//evil.example'])).toMatchObject({ code: 2 });
});
