// One incident with the keyboard alone: what waits is decided where it is listed, what failed is
// read beside its list, and the letters of one fault are redriven together. Also what a list shows
// of it: a batch with its answers, a row beside its list.
import { expect, test } from 'vitest';
import { batchRig } from '../features/batches/batch-rig.ts';
import { violationsOn } from './axe.ts';
import { useDashboard } from './dashboard-rig.ts';
import { handOf } from './hand.ts';

const dashboard = useDashboard({ file: { tools: { approvals: { rules: [{ tools: ['echo'] }] } } } });

async function say(session: string, text: string): Promise<void> {
  await dashboard.rig.post(`/v1/sessions/${session}/messages`, { text });
  await dashboard.rig.work(session);
}

test('a call that waits is shown as its command and approved in the list of what waits', async () => {
  const { page, rig, signIn, open } = dashboard;
  await say('cleaner', '[[tool: echo {"command": "rm -r \\"old files\\"\\ndf -h"}]] [[reply: done]]');
  await signIn();
  await open('/');
  await page.keyboard.press('g');
  await page.keyboard.press('w');
  const group = page.getByRole('region', { name: 'approval', exact: true });
  await expect.poll(() => group.locator('.shown-call').textContent()).toBe('rm -r "old files"\ndf -h');
  expect(await violationsOn(page)).toEqual([]);
  await handOf('keyboard', page).press('Approve');
  await expect.poll(async () => (await rig.get('/v1/approvals?status=approved')).body.items.length).toBe(1);
  await group.getByText('approved', { exact: true }).waitFor();
  await rig.work('cleaner');
  await group.waitFor({ state: 'detached' });
});

test('the failures of one fault are one group with the words of the people, read, selected and redriven by keyboard', async () => {
  const { page, rig, signIn, open } = dashboard;
  for (const n of [11, 12]) await say(`buyer-${n}`, `Order ${n}? [[error: 400 message="order ${n} is too long"]]`);
  await say('other', 'What else? [[error: 400 message="no such tool"]]');
  await signIn();
  await open('/');
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  const group = page.getByRole('region', { name: 'model_invalid_request' });
  await group.getByText('Order 12?').waitFor();
  // Two messages: they differ in the number of the order only.
  const clusters = group.locator('.cluster');
  expect(await clusters.count()).toBe(2);
  expect(await clusters.first().locator('.letter').count()).toBe(2);

  const hand = handOf('keyboard', page);
  await hand.press(/^Order 12\?/);
  const turn = page.getByRole('region', { name: /^Turn / });
  await turn.getByText('order 12 is too long').first().waitFor();
  expect(await violationsOn(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await turn.waitFor({ state: 'detached' });

  await hand.press('Select all 2 with this message', 'checkbox');
  await hand.press('Redrive selected…');
  await hand.press('Redrive 2 dead letters');
  await expect
    .poll(async () => (await rig.get('/v1/bulk-actions')).body.items)
    .toMatchObject([{ action: 'redrive', target: 'dead-letters', total: 2, filter: { ids: 2 } }]);
});

test('a batch has its answers in its list, and its failed items are a part of its bar that leads to them', async () => {
  const { page, rig, signIn, open } = dashboard;
  const items = [{ text: 'One? [[reply: first]]' }, { text: '[[error: 400 message="the provider says no"]]' }];
  const { body } = await batchRig(rig).submit({ name: 'answers', items });
  await batchRig(rig).run(body.id);
  await signIn();
  await open(`/batches/${body.id}`);
  const rows = page.getByRole('table', { name: 'Items', exact: true }).getByRole('row');
  await rows.filter({ hasText: 'One?' }).getByText('first', { exact: true }).waitFor();
  await rows.getByText('the provider says no', { exact: true }).waitFor();
  expect(await page.locator('.share-bar > [data-tone="bad"]').count()).toBe(1);
  await page.getByRole('list', { name: 'Items by state' }).getByRole('link', { name: 'failed 1' }).click();
  await expect.poll(() => new URL(page.url()).search).toBe('?status=failed');
  await expect.poll(() => rows.count()).toBe(2);
});

test('a row opens beside its list by a click, the keys move both, and a conversation is continued there', async () => {
  const { page, rig, signIn, open } = dashboard;
  for (const session of ['left', 'right']) await say(session, `From ${session} [[reply: Hello ${session}.]]`);
  await signIn();
  await open('/sessions?order=created');
  await page.getByRole('cell', { name: 'From left' }).click();
  const panelOf = (session: string) => page.getByRole('region', { name: `agent:main:${session}` });
  await panelOf('left').getByText('Hello left.', { exact: true }).waitFor();
  expect(new URL(page.url()).searchParams.get('open')).toBe('agent:main:left');
  expect(await violationsOn(page)).toEqual([]);
  await page.keyboard.press('k');
  await panelOf('right').getByText('Hello right.', { exact: true }).waitFor();
  await panelOf('right').getByLabel('Message', { exact: true }).fill('[[reply: And again.]]');
  await panelOf('right').getByRole('button', { name: 'Send' }).click();
  await expect.poll(() => panelOf('right').getByLabel('Message', { exact: true }).inputValue()).toBe('');
  await rig.work('right');
  await panelOf('right').getByText('And again.', { exact: true }).waitFor();
  await page.goBack();
  await expect.poll(() => new URL(page.url()).search).toBe('?order=created');
});

test.each([390, 320])('at %i px Send is above the bar, and what a row opens covers the list', async (width) => {
  const { page, signIn, open } = dashboard;
  await say('phone', 'From a phone [[reply: Hello.]]');
  await page.setViewportSize({ width, height: 720 });
  await signIn();
  await open('/sessions/agent:main:phone');
  const bottomOf = async (name: string): Promise<number> => {
    const box = await page.getByRole('button', { name, exact: true }).boundingBox();
    return (box?.y ?? Number.NaN) + (box?.height ?? 0);
  };
  const bar = await page.getByRole('navigation', { name: 'Screens' }).boundingBox();
  expect(await bottomOf('Send')).toBeLessThanOrEqual(bar?.y ?? 0);
  await open('/sessions?q=phone');
  await page.locator('[role=row][data-index="0"]').getByText('From a phone').click();
  const panel = page.locator('.side-panel');
  await panel.getByText('Hello.', { exact: true }).first().waitFor();
  expect((await panel.boundingBox())?.width).toBe(width);
  expect(await bottomOf('Send')).toBeLessThanOrEqual(bar?.y ?? 0);
  await panel.getByRole('button', { name: 'Close' }).click();
  await panel.waitFor({ state: 'detached' });
});
