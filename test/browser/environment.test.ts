// Which installation a page belongs to: its environment and its version, before and after the
// sign-in.
import { expect, test } from 'vitest';
import { violationsOn } from './axe.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';
import { overflowOf } from './page-figures.ts';

const NAME = 'staging (Frankfurt 2)';
const dashboard = useDashboard({ api: { environment: NAME } });

test('the sign-in page, the header and the titles name the environment and the version, also for a viewer', async () => {
  const { page, url, signIn, open } = dashboard;
  await page.goto(url);
  await page.getByRole('heading', { name: `Holdfast environment ${NAME}` }).waitFor();
  await page.getByText(`${new URL(url).host}, version 0.0.0`).waitFor();
  await expect.poll(() => page.title()).toBe(`Sign in · ${NAME} · Holdfast`);
  await signIn(VIEWER_KEY);
  await open('/turns');
  const header = page.getByRole('banner');
  await header.getByText(NAME).waitFor();
  await header.getByRole('button', { name: 'Menu' }).click();
  await header.getByText('version 0.0.0').waitFor();
  await expect.poll(() => page.title()).toBe(`Turns · ${NAME} · Holdfast`);
});

test.each(['light', 'dark'] as const)('at 320 px, %s, the names fit', async (colorScheme) => {
  const { page, url, signIn, open } = dashboard;
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width: 320, height: 720 });
  await page.goto(url);
  await page.getByText('version 0.0.0').waitFor();
  expect(await violationsOn(page)).toEqual([]);
  expect(await overflowOf(page)).toBe(0);
  await signIn();
  await open('/');
  expect((await page.locator('header .bar').boundingBox())?.height).toBeLessThan(108);
  expect(await overflowOf(page)).toBe(0);
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByText('version 0.0.0').waitFor();
  expect(await violationsOn(page)).toEqual([]);
});
