// What people think of a turn, given and read on its page.
import { expect, test } from 'vitest';
import { violationsOn } from './axe.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';

const dashboard = useDashboard();

async function turnOf(session: string): Promise<string> {
  const { rig } = dashboard;
  const { turnId } = await rig.settle(session, 'Hello');
  return turnId as string;
}

test('a turn gets a thumb by one press, and one of another name with a note', async () => {
  const { rig, page, signIn, open } = dashboard;
  const id = await turnOf('judged');
  await signIn();
  await open(`/turns/${id}`);
  const scores = page.getByRole('region', { name: 'Scores' });
  await scores.getByRole('button', { name: 'Good answer' }).click();
  await scores.getByText('👍 good').waitFor();
  await scores.getByRole('button', { name: 'Note…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('👎 bad').check();
  await dialog.getByLabel('Score').fill('right tool');
  await dialog.getByLabel('Note').fill('It should have <b>asked</b>.');
  expect(await violationsOn(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Keep it' }).click();
  await dialog.waitFor({ state: 'detached' });
  await scores.getByText('It should have <b>asked</b>.').waitFor();
  expect(await scores.locator('.chip').allTextContents()).toEqual(['👎 right tool', '👍 good']);
  expect((await rig.get(`/v1/scores?turn=${id}`)).body.items).toMatchObject([
    { score: 'right tool', value: false },
    { score: 'thumb', value: true },
  ]);
});

test('a viewer reads the scores of a turn and gives none', async () => {
  const { rig, page, signIn, open } = dashboard;
  const id = await turnOf('read-only');
  await rig.post(`/v1/turns/${id}/scores`, { score: 'speed', value: 0.5, by: 'Ada' });
  await signIn(VIEWER_KEY);
  await open(`/turns/${id}`);
  const scores = page.getByRole('region', { name: 'Scores' });
  await scores.getByText('Ada').waitFor();
  expect(await scores.getByRole('button').count()).toBe(0);
});
