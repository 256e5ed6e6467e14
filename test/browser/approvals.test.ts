// Requests for approvals as a person decides about them in the dashboard: what would run is shown
// whole, and the decision follows at once.
import { expect, test } from 'vitest';
import { changeApprovals } from '../rows/approvals.ts';
import { changeSessions } from '../rows/sessions.ts';
import { ago } from '../rows/table.ts';
import { violationsOn } from './axe.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';
import { handOf } from './hand.ts';

const dashboard = useDashboard({ file: { tools: { approvals: { rules: [{ tools: ['echo'] }] } } } });

/** A turn that waits, and its request. */
async function ask(session: string, input: object = { a: 1 }) {
  const { rig } = dashboard;
  const text = `[[tool: echo ${JSON.stringify(input)}]] [[reply: done]]`;
  await rig.post(`/v1/sessions/${session}/messages`, { text });
  await rig.work(session);
  const { items } = (await rig.get('/v1/approvals?status=open')).body;
  const request = items.find(({ sessionKey }: { sessionKey: string }) => sessionKey === `agent:main:${session}`);
  return request as { id: string; turnId: string };
}

const approvalOf = async (id: string) => (await dashboard.rig.get(`/v1/approvals/${id}`)).body;

test('a parked turn leads to its request, which shows every character, and its approval is followed without a reload (G36)', async () => {
  const { page, rig, signIn, open } = dashboard;
  const input = { command: 'rm \u202ecod.txt\u200b \u001b[31mred\u001b[0m', path: '\u05d0\u05d1 p\u0430y' };
  const root = await rig.turns.sessionOf('root');
  const { id, turnId } = await ask('parked', input);
  await changeSessions(rig, { key: 'agent:main:parked' }, { ancestors: [root] });
  await signIn();
  await open('/');
  const attention = page.getByRole('link', { name: '1 call of echo waits for an approval' });
  await attention.waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Approvals 1' }).waitFor();

  await open(`/turns/${turnId}`);
  await page.getByText('waiting for an approval', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Decide' }).click();
  const request = page.getByRole('region', { name: `echo ${id.slice(-6)}` });
  const call = request.locator('.shown-call');
  await expect.poll(() => call.textContent()).toContain('"command": "rm <U+202E>cod.txt<U+200B> \\u001b[31mred');
  expect(await call.textContent()).toContain('<U+0430>');
  const order = await page.evaluate<string>(`getComputedStyle(document.querySelector('.shown-call')).unicodeBidi`);
  expect(order).toBe('bidi-override');
  expect(await call.locator('.mark').count()).toBeGreaterThan(4);
  await request.getByRole('link', { name: 'agent:main:root' }).waitFor();
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await violationsOn(page)).toEqual([]);

  await page.getByText('Live', { exact: true }).waitFor();
  await request.getByRole('button', { name: 'Approve' }).click();
  await request.getByText('approved', { exact: true }).waitFor();
  expect(await approvalOf(id)).toMatchObject({ status: 'approved', decidedBy: 'admin', note: null });
  await page.getByText('No tool call waits for an approval').waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Approvals', exact: true }).waitFor();

  const { id: later } = await ask('later');
  await page.getByRole('link', { name: `echo ${later.slice(-6)}` }).waitFor();
  await rig.post(`/v1/approvals/${later}/deny`);
  await page.getByRole('link', { name: `echo ${later.slice(-6)}` }).waitFor({ state: 'detached' });
});

test('a request is found and denied with a note by the keyboard alone; the agent reads who denied it and why', async () => {
  const { page, rig, signIn, open } = dashboard;
  const { id } = await ask('by-keyboard');
  await signIn();
  await open('/');
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await page.getByRole('link', { name: `echo ${id.slice(-6)}` }).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  const hand = handOf('keyboard', page);
  await hand.write('Note (the agent reads it when the call is denied)', 'not today');
  await hand.press('Deny');
  await expect.poll(async () => (await approvalOf(id)).status).toBe('denied');
  await page.getByText('not today').waitFor();
  await rig.work('by-keyboard');
  const transcript = (await rig.get('/v1/sessions/by-keyboard/transcript')).body;
  expect(JSON.stringify(transcript)).toContain('admin denied it: not today');
});

test('a decision that comes second, or too late, says so', async () => {
  const { page, rig, signIn, open } = dashboard;
  const [second, late] = [await ask('second'), await ask('late')];
  await signIn();
  await open(`/approvals?open=${second.id}`);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await rig.post(`/v1/approvals/${second.id}/deny`, { note: 'first' });
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByRole('alert').getByText('was denied by admin. The first decision holds.').waitFor();
  await page.getByRole('region', { name: /^echo/ }).getByText('denied', { exact: true }).waitFor();

  await open(`/approvals?open=${late.id}`);
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  await changeApprovals(rig, { id: late.id }, { expiresAt: ago('1 second') });
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByRole('alert').getByText('has expired, which has denied it').waitFor();
  await page.getByRole('region', { name: /^echo/ }).getByText('expired', { exact: true }).waitFor();
});

test('a viewer sees what would run and has no buttons; a call that is not shown whole is asked about', async () => {
  const { page, context, signIn, open } = dashboard;
  const { id } = await ask('long', { text: 'x'.repeat(70_000) });
  await signIn(VIEWER_KEY);
  await open(`/approvals?open=${id}`);
  await page.getByRole('button', { name: /^Show all of it/ }).waitFor();
  expect(await page.getByRole('button', { name: /Approve|Deny/ }).count()).toBe(0);
  await context.clearCookies();
  await signIn();
  await open(`/approvals?open=${id}`);
  await page.getByRole('button', { name: 'Approve…' }).click();
  await page.getByRole('heading', { name: 'Approve what is not shown?' }).waitFor();
  await page.getByRole('button', { name: 'Leave it' }).click();
  expect((await approvalOf(id)).status).toBe('open');
  await page.getByRole('button', { name: /^Show all of it/ }).click();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await expect.poll(async () => (await approvalOf(id)).status).toBe('approved');
});
