// What needs an operator: counted in the rail, listed in the overview with links, and dead letters
// that are decided one by one. What a page does is checked in the API.
import { beforeEach, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { addDeadLetters, readDeadLetters, removeDeadLetters } from '../rows/dead-letters.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';
import { handOf } from './hand.ts';
import { overflowOf } from './page-figures.ts';

const dashboard = useDashboard();

beforeEach(async () => {
  await removeDeadLetters(dashboard.rig);
});

async function letters(code: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId<string>());
  await addDeadLetters(dashboard.rig, ...ids.map((id) => ({ id, kind: 'announcement', code })));
  return ids;
}

const rail = () => dashboard.page.getByRole('navigation', { name: 'Screens' });
const overview = () => rail().getByRole('link', { name: /^Overview/ });

test('the rail counts what needs attention, and the overview leads to each of them', async () => {
  const { page, rig, signIn, open } = dashboard;
  await letters('poison', 2);
  await letters('other', 1);
  const { items } = (await rig.get('/v1/attention')).body;
  const { attention } = (await rig.get('/v1/stats')).body;
  expect(attention.errors + attention.warnings).toBe(items.length);
  await signIn();
  await open('/settings');
  await expect.poll(() => overview().textContent()).toBe(`Overview${items.length} need attention`);
  await overview().click();
  await page.getByRole('link', { name: '2 dead letters with the code poison' }).click();
  await page.getByRole('region', { name: 'poison' }).waitFor();
  expect(new URL(page.url()).search).toBe('?code=poison');
  expect(await page.getByRole('region', { name: 'other' }).count()).toBe(0);
  await page.getByRole('combobox', { name: 'Error code' }).selectOption('any');
  await page.getByRole('region', { name: 'other' }).waitFor();
  await page.goBack();
  await expect.poll(() => page.getByRole('region', { name: 'other' }).count()).toBe(0);
});

test('an operator acknowledges a problem with a reason, and opens it again, and snoozes it', async () => {
  const { page, rig, signIn, open } = dashboard;
  await letters('known', 1);
  const text = '1 dead letter with the code known';
  const item = async () =>
    (await rig.get('/v1/attention')).body.items.find((each: { text: string }) => each.text === text);
  const entry = () =>
    page.getByRole('region', { name: 'Needs attention' }).getByRole('listitem').filter({ hasText: text });
  await signIn();
  await open('/');
  const { press } = handOf('mouse', page);
  await press(`Acknowledge… ${text}`);
  const dialog = page.getByRole('dialog', { name: 'Acknowledge this problem?' });
  await dialog.getByLabel('Reason (kept in the audit log)').fill('a test of today');
  await dialog.getByRole('button', { name: 'Acknowledge' }).click();
  await entry().getByText('acknowledged', { exact: true }).waitFor();
  await entry()
    .getByText(/^by admin, .*: a test of today$/)
    .waitFor();
  expect(await item()).toMatchObject({ state: 'acknowledged', mark: { by: 'admin', reason: 'a test of today' } });
  await press(`Show again ${text}`);
  await press(`Snooze… ${text}`);
  const snooze = page.getByRole('dialog', { name: 'Snooze this problem?' });
  await snooze.getByLabel('Hours in which it is not counted and stands last').selectOption('4');
  await snooze.getByRole('button', { name: 'Snooze' }).click();
  await entry().getByText('snoozed', { exact: true }).waitFor();
  const { mark } = await item();
  expect(Date.parse(mark.until) - Date.parse(mark.at)).toBeCloseTo(4 * 3_600_000, -4);
});

test('one dead letter of a group is discarded, and the others stay', async () => {
  const { page, rig, signIn, open } = dashboard;
  const ids = await letters('single', 3);
  await signIn();
  await open('/dead-letters');
  await handOf('mouse', page).press(/^Discard this one…/);
  const dialog = page.getByRole('dialog', { name: 'Discard 1 × single?' });
  await dialog.getByLabel('Reason (kept in the audit log)').fill('done by hand');
  await dialog.getByRole('button', { name: 'Discard 1 dead letter' }).click();
  await expect
    .poll(async () => (await rig.get('/v1/bulk-actions')).body.items)
    .toMatchObject([
      { action: 'discard', target: 'dead-letters', filter: { ids: 1 }, reason: 'done by hand', total: 1 },
    ]);
  const open1 = await readDeadLetters(rig, { id: ids }, 'id');
  expect(open1).toHaveLength(3);
});

test('a viewer sees dead letters without a button; on a phone nothing is cut', async () => {
  const { page, signIn, open } = dashboard;
  await letters('seen', 2);
  await signIn(VIEWER_KEY);
  await page.setViewportSize({ width: 320, height: 720 });
  await open('/dead-letters');
  await page.getByRole('region', { name: 'seen' }).waitFor();
  const deciding = { name: /redrive|discard/i, includeHidden: true };
  expect(await page.locator('main').getByRole('button', deciding).count()).toBe(0);
  expect(await page.locator('main').getByRole('checkbox').count()).toBe(0);
  expect(await overflowOf(page)).toBe(0);
});

test('on a phone what needs attention is on the first screen, and no figure leaves a hole at any width', async () => {
  const { page, signIn, open, settle } = dashboard;
  await letters('phone', 1);
  await signIn();
  await page.setViewportSize({ width: 390, height: 844 });
  await open('/');
  const link = page.getByRole('link', { name: '1 dead letter with the code phone' });
  await link.waitFor();
  expect((await link.boundingBox())!.y).toBeLessThan(400);
  for (const width of [360, 640, 1024, 1440, 2560]) {
    await page.setViewportSize({ width, height: 844 });
    await settle();
    expect(await overflowOf(page)).toBe(0);
    const right = await page.evaluate<number[]>(
      `['.figures > *', '.split > *'].map((each) => { const all = [...document.querySelectorAll('.flow ' + each)];
        return Math.round(all.at(-1).getBoundingClientRect().right - all.at(-1).parentElement.getBoundingClientRect().right); })`,
    );
    expect(right).toEqual([0, 0]);
  }
});
