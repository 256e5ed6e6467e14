// Agents: the list of them, one with all that belongs to it, and the actions on it.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { violationsOn } from './axe.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';

const dashboard = useDashboard();

test('an agent is found, shows what it did and what belongs to it, is tried, paused and resumed', async () => {
  const { rig, page, signIn, open, settle } = dashboard;
  const [{ workspace }] = (await rig.get('/v1/agents')).body.items;
  await mkdir(workspace, { recursive: true });
  for (const [session, rule] of [
    ['first', 'Be brief.'],
    ['second', 'Be kind.'],
  ] as const) {
    await writeFile(join(workspace, 'AGENTS.md'), rule);
    await rig.settle(session, '[[reply: ok]]');
  }
  const { turnId } = await rig.settle('broken', '[[error: 400 message="no"]]');
  const { nextStep } = (await rig.get(`/v1/turns/${turnId}`)).body;
  await rig.post('/v1/budgets', { scope: 'agent:main', per: 'day', limitUsd: 5 });
  const schedule = { kind: 'cron', expr: '0 9 1 1 *' };
  await rig.post('/v1/crons', { name: 'New year', schedule, payload: { kind: 'agentTurn', message: 'Go.' } });

  await signIn();
  await open('/agents');
  await page.getByRole('link', { name: 'main', exact: true }).click();
  await page.getByRole('heading', { name: 'main', level: 1 }).waitFor();
  await page.getByRole('figure', { name: 'Cost' }).getByText('last 7 days').waitFor();
  await page.getByRole('region', { name: 'Last failures' }).getByText(nextStep).waitFor();
  const tools = page.getByRole('region', { name: 'Tools' });
  await tools.getByRole('row').filter({ hasText: 'echo' }).getByText('plugin').waitFor();
  await page.getByRole('region', { name: 'Crons' }).getByRole('link', { name: 'New year' }).waitFor();
  await page.getByRole('region', { name: 'Budgets' }).getByText('agent:main').waitFor();
  const instructions = page.getByRole('region', { name: 'Instructions' });
  await instructions.getByText('AGENTS.md').first().click();
  await instructions.getByText('Be kind.').waitFor();
  expect(await instructions.getByRole('table', { name: 'Versions of AGENTS.md' }).getByRole('row').count()).toBe(3);
  await settle();
  expect(await violationsOn(page)).toEqual([]);

  await page.getByRole('button', { name: 'Pause agent…' }).click();
  await page.getByLabel('Reason').fill('a new model');
  await page.getByRole('button', { name: 'Pause agent main' }).click();
  await page.getByRole('region', { name: 'Paused' }).getByText('a new model').waitFor();
  expect((await rig.get('/v1/agents/main')).body.paused).toMatchObject({ agent: 'main', lane: null, session: null });
  await page.getByRole('button', { name: 'Resume agent main' }).click();
  await page.getByRole('button', { name: 'Pause agent…' }).waitFor();
  expect((await rig.get('/v1/agents/main')).body.paused).toBeNull();

  await page.getByRole('button', { name: 'Try main…' }).click();
  await page.getByRole('dialog').getByLabel('Message').fill('[[reply: tried]]');
  await page.getByRole('button', { name: 'Try', exact: true }).click();
  const tried = async (): Promise<string[]> =>
    (await rig.get('/v1/sessions?kind=try')).body.items.map(({ key }: { key: string }) => key);
  await expect.poll(tried).toHaveLength(1);
  await page.keyboard.press('Escape');
});

test('a viewer sees the agent and no button that changes it', async () => {
  const { page, signIn, open, settle } = dashboard;
  await signIn(VIEWER_KEY);
  await open('/agents/main');
  await settle();
  expect(
    await page
      .locator('main')
      .getByRole('button', { name: /Try|Pause|Resume/ })
      .count(),
  ).toBe(0);
});
