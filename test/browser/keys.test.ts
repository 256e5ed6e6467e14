// Keys: they go to screens and open the help, do nothing while a person types, and can be switched
// off (WCAG 2.1.4).
import { expect, test } from 'vitest';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();

test('g t goes to the turns, ? opens the help, and both do nothing once keys are switched off', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open('/');
  // The second key has to follow within 1.5 s, which it may not do on a busy machine: a person
  // presses both again.
  const goToTurns = async (): Promise<string> => {
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    return await page.title();
  };
  await expect.poll(goToTurns).toBe('Turns · Holdfast');
  await page.getByRole('heading', { name: 'Turns' }).waitFor();
  await page.getByRole('textbox', { name: 'Session', exact: true }).pressSequentially('?gw');
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.getByRole('heading', { name: 'Turns' }).click();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys' });
  await help.getByRole('checkbox').uncheck();
  await help.getByRole('button', { name: 'Close' }).click();
  await help.waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await page.keyboard.press('g');
  await page.keyboard.press('w');
  expect(await help.count()).toBe(0);
  await page.getByRole('heading', { name: 'Turns' }).waitFor();
});

test('j and k move in a conversation before it is clicked, and Back gives the focus to the row that was left', async () => {
  const { page, rig, signIn, open } = dashboard;
  for (const text of ['One', 'Two', 'Three']) {
    await rig.post('/v1/sessions/keyed/messages', { text: `${text} [[reply: ${text}.]]` });
    await rig.work('keyed');
  }
  await signIn();
  await open('/sessions/keyed');
  await page.locator('[data-seq="6"]').waitFor();
  const focused = (name: 'seq' | 'index') =>
    page.evaluate<string | undefined>(`document.activeElement.dataset.${name}`);
  await page.keyboard.press('k');
  await expect.poll(() => focused('seq')).toBe('6');
  await page.keyboard.press('k');
  await expect.poll(() => focused('seq')).toBe('5');
  await open('/turns?session=keyed');
  await page.locator('[role=row][data-index="2"]').waitFor();
  for (const index of ['0', '1']) {
    await page.keyboard.press('j');
    await expect.poll(() => focused('index')).toBe(index);
  }
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: /^Turn / }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: /^Turn /, level: 1 }).waitFor();
  await page.goBack();
  await expect.poll(() => focused('index')).toBe('1');
});
