// The filters of lists: each is in the URL, and is what the service is asked for.
import { expect, test } from 'vitest';
import { batchRig } from '../features/batches/batch-rig.ts';
import { violationsOn } from './axe.ts';
import { useDashboard } from './dashboard-rig.ts';
import { handOf } from './hand.ts';

const dashboard = useDashboard();

const rowsOf = () => dashboard.page.getByRole('row').filter({ has: dashboard.page.getByRole('cell') });

test('what waits is narrowed by session and lane, and only the selected messages are cancelled', async () => {
  const { page, rig, signIn, open } = dashboard;
  const ids: string[] = [];
  for (const session of ['one', 'one', 'two']) {
    const { body } = await rig.post(`/v1/sessions/${session}/messages`, { text: `for ${session}` });
    ids.push(body.message.id);
  }
  await signIn();
  await open('/waiting');
  await expect.poll(() => rowsOf().count()).toBe(3);
  await page.getByLabel('Session', { exact: true }).fill('agent:main:one');
  await page.keyboard.press('Enter');
  await expect.poll(() => rowsOf().count()).toBe(2);
  expect(new URL(page.url()).search).toBe('?session=agent%3Amain%3Aone');

  await page.locator('[role=row][data-index="0"]').focus();
  await page.keyboard.press('x');
  await page.getByRole('button', { name: 'Cancel 1 selected…' }).click();
  await page.getByRole('heading', { name: 'Cancel 1 message?' }).waitFor();
  await page.getByRole('button', { name: 'Cancel 1 message', exact: true }).click();
  await page.getByText('0 done, 0 skipped, 0 failed of 1').waitFor();
  const [action] = (await rig.get('/v1/bulk-actions')).body.items;
  expect((await rig.get(`/v1/bulk-actions/${action.id}/items`)).body.items).toMatchObject([{ id: ids[0] }]);

  await page.getByRole('combobox', { name: 'Lane' }).selectOption('batch');
  await page.getByText('No message that waits fits the filters.').waitFor();
  await page.getByRole('button', { name: 'Clear the filters' }).click();
  await expect.poll(() => rowsOf().count()).toBe(3);
  await page.getByRole('combobox', { name: 'Reason' }).selectOption('no_worker');
  await expect.poll(() => new URL(page.url()).search).toBe('?reason=no_worker');
  await expect.poll(() => rowsOf().count()).toBe(3);
  const all = { name: 'Cancel all that match…', includeHidden: true };
  expect(await page.getByRole('button', all).count()).toBe(0);
});

test('the list of turns has a link for each batch instead of its turns, also for actions on all that match', async () => {
  const { page, rig, signIn, open } = dashboard;
  const { body } = await batchRig(rig).submit({ name: 'tickets', items: [{ text: '[[reply: ok]]' }] });
  await batchRig(rig).run(body.id);
  await rig.post('/v1/sessions/beside/messages', { text: 'What is beside a batch? [[reply: ok]]' });
  await rig.work('beside');
  await signIn();
  await open('/turns');
  await rowsOf().getByText('What is beside a batch?').waitFor();
  expect(await rowsOf().getByText('batch', { exact: false }).filter({ hasNotText: 'beside' }).count()).toBe(0);
  await handOf('mouse', page).press('Retry all that match…');
  const counts = () => dashboard.requests.findLast(({ url }) => url.endsWith('/v1/bulk-actions'))?.body;
  await expect.poll(counts).toContain('"except":"batch"');
  const question = page.getByRole('dialog');
  await question.waitFor();
  await page.keyboard.press('Escape');
  await question.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: /^Batch tickets: 1 of 1 items$/ }).click();
  await expect
    .poll(() =>
      rowsOf()
        .getByRole('link', { name: /^batch / })
        .count(),
    )
    .toBe(1);
});

test('sessions are found by status and key, and an order by what changed last is kept in the URL', async () => {
  const { page, rig, signIn, open } = dashboard;
  await rig.post('/v1/sessions/found-idle/messages', { text: '[[reply: hello]]' });
  await rig.work('found-idle');
  await rig.post('/v1/sessions/found-waiting/messages', { text: 'hello' });
  await signIn();
  await open('/sessions?q=found&order=updated');
  await expect.poll(() => rowsOf().count()).toBe(2);
  expect(await page.getByRole('combobox', { name: 'Newest by' }).inputValue()).toBe('updated');
  await page.getByRole('combobox', { name: 'Status' }).selectOption('waiting');
  await expect.poll(() => rowsOf().getByRole('link').allTextContents()).toEqual(['agent:main:found-waiting']);
  // As all that the API takes.
  await page.getByRole('combobox', { name: 'Kind' }).selectOption('try');
  await page.getByText('No session fits the filters.').waitFor();
});

test('turns are found by tool and cost; a filter that cannot be used is named', async () => {
  const { page, rig, signIn, open } = dashboard;
  await rig.post('/v1/sessions/tooled/messages', { text: '[[tool: echo {"say": "hi"}]] [[reply: done]]' });
  await rig.work('tooled');
  await signIn();
  await open('/turns?tool=echo');
  await expect.poll(() => rowsOf().count()).toBe(1);
  await page.getByRole('button', { name: 'More filters' }).click();
  await page.getByLabel('Cost at least, in $').fill('1000');
  await page.keyboard.press('Enter');
  await page.getByText('No turn fits the filters.').waitFor();
  await page.getByLabel('Cost at least, in $').fill('much');
  await page.keyboard.press('Enter');
  const fault = page.getByRole('alert').getByText('minCostUsd');
  await fault.first().waitFor();
  expect(await fault.count()).toBe(1);
  await handOf('mouse', page).press('Retry all that match…');
  await expect.poll(() => page.getByRole('alert').count()).toBe(2);
});

test('a choice without a value in the URL shows what holds then', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open('/costs');
  const shown = (name: string) => page.getByRole('combobox', { name }).locator('option:checked').textContent();
  expect([await shown('Interval'), await shown('Group by')]).toEqual(['day', 'model']);
  await open('/costs?by=hour&group=agent');
  expect([await shown('Interval'), await shown('Group by')]).toEqual(['hour', 'agent']);
});

test('a tag on a turn, a batch, a cron or a session leads to the turns that have it; sessions and costs are filtered by it', async () => {
  const { page, rig, signIn, open } = dashboard;
  const tags = { customer: '42: <b>north</b>', long: 'x'.repeat(512) };
  for (const [session, body] of [
    ['tagged', { tags }],
    ['plain', {}],
  ] as const) {
    await rig.post(`/v1/sessions/${session}/messages`, { text: '[[reply: ok]]', ...body });
    await rig.work(session);
  }
  const batch = await batchRig(rig).submit({ items: [{ text: 'one' }], tags });
  const cron = await rig.post('/v1/crons', {
    schedule: { kind: 'every', everyMs: 3_600_000 },
    payload: { kind: 'agentTurn', message: 'Report.' },
    tags,
  });
  const [turn] = (await rig.get('/v1/turns?session=tagged')).body.items;
  const tag = `customer:${tags.customer}`;
  await page.setViewportSize({ width: 320, height: 800 });
  await signIn();
  for (const [path, folded] of [
    [`turns/${turn.id}`, 'Facts: waited'],
    [`batches/${batch.body.id}`, 'Facts: live'],
    [`crons/${cron.body.id}`],
    ['sessions/tagged', 'Facts, actions and history'],
  ] as const) {
    await open(`/${path}`);
    if (folded !== undefined) await page.getByText(folded).click();
    const chip = page.getByRole('link', { name: `customer: ${tags.customer}` });
    await chip.waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await violationsOn(page)).toEqual([]);
    await chip.click();
    await expect.poll(() => new URL(page.url()).searchParams.get('tag')).toBe(tag);
    await expect.poll(() => rowsOf().getByRole('link').allTextContents()).toContain('agent:main:tagged');
    expect(await rowsOf().count()).toBe(1);
    expect(await page.getByLabel('Tag, as key:value').inputValue()).toBe(tag);
  }

  const search = `tag=${encodeURIComponent(tag)}`;
  await page.setViewportSize({ width: 1280, height: 800 });
  await open(`/turns?${search}&columns=turn,tags`);
  await rowsOf()
    .getByRole('link', { name: `customer: ${tags.customer}` })
    .waitFor();
  await open('/sessions');
  await page.getByLabel('Tag, as key:value').fill(tag);
  await page.keyboard.press('Enter');
  await expect.poll(() => rowsOf().getByRole('link').allTextContents()).toEqual(['agent:main:tagged']);
  await open(`/costs?${search}`);
  const turns = page.getByRole('region', { name: 'By model' }).getByRole('row').last().getByRole('cell').nth(2);
  await expect.poll(() => turns.textContent()).toBe('1');
  await page.getByText('Most expensive turns, sessions and crons').click();
  const top = page.getByRole('region', { name: 'Most expensive sessions' }).getByRole('rowheader');
  await expect.poll(() => top.allTextContents()).toEqual(['agent:main:tagged']);
  await page.getByLabel('Tag, as key:value').fill('customer:43');
  await page.keyboard.press('Enter');
  await page.getByText('No model call of the last 30 days fits the filters.').waitFor();
});
