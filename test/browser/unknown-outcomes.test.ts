// Calls of which it is not known whether they have taken effect, and turns by what people think of
// them: found in the list of turns, and explained on the page of the turn.
import { expect, test } from 'vitest';
import { changeToolCalls } from '../rows/calls.ts';
import { now } from '../rows/table.ts';
import { violationsOn } from './axe.ts';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();

test('a turn with an unknown outcome is found by a filter, says so in the list and on its page, and what to do', async () => {
  const { rig, page, signIn, open } = dashboard;
  const { turnId } = await rig.settle('doubtful', '[[tool: echo {"refund": 42}]] [[reply: done]]');
  const call = { isIdempotent: false, status: 'unknown', unknownAt: now };
  await changeToolCalls(rig, { sessionKey: 'agent:main:doubtful' }, call);
  const other = await rig.settle('certain', '[[reply: done]]');
  await rig.post(`/v1/turns/${other.turnId}/scores`, { score: 'helpful', value: false });
  await signIn();
  await open('/turns');
  const rows = page.getByRole('table', { name: 'Turns' }).locator('.table-body').getByRole('row');
  await rows.nth(1).waitFor();
  const choose = async (name: string, value: string): Promise<void> => {
    if (!(await page.getByLabel(name).isVisible())) await page.getByRole('button', { name: 'More filters' }).click();
    await page.getByLabel(name).selectOption(value);
  };
  await page.getByRole('button', { name: 'More filters' }).click();
  await page.getByLabel('Score, as name:value').fill('helpful:false');
  await page.getByLabel('Score, as name:value').press('Enter');
  await expect.poll(() => rows.allTextContents()).toEqual([expect.stringContaining('certain')]);
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  await choose('Outcome of a call', 'unknown');
  await expect
    .poll(() => rows.allTextContents())
    .toEqual([expect.stringMatching(/doubtful.*1 call with an unknown outcome: done/)]);
  expect(new URL(page.url()).search).toBe('?callStatus=unknown');
  expect(await violationsOn(page)).toEqual([]);
  await open(`/turns/${turnId}`);
  await page.getByText('1 call with an unknown outcome', { exact: true }).waitFor();
  const { nextStep } = (await rig.get(`/v1/turns/${turnId}`)).body;
  await page.getByText(nextStep).waitFor();
  expect(await violationsOn(page)).toEqual([]);
});
