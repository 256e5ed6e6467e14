// Crons and heartbeats in the browser. The effect of each action is checked in the API.
import { expect, test } from 'vitest';
import { loadConfigWithSources } from '../../src/config.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';

const { agents } = loadConfigWithSources({ env: {}, cwd: '/nowhere', isTty: false }).config;
const heartbeat = {
  every: 1_800_000,
  activeHours: { start: '09:00', end: '17:00', timezone: 'Europe/Berlin' },
  when: { file: 'tickets.md', timeoutSeconds: 5 },
};
const dashboard = useDashboard({ changes: () => ({ agents: { ...agents, list: [{ id: 'main', heartbeat }] } }) });

const cronNamed = async (name: string) => {
  const { items } = (await dashboard.rig.get('/v1/crons')).body;
  return items.find((cron: { name: string }) => cron.name === name);
};

async function made(name: string, schedule: object = { kind: 'cron', expr: '30 2 * * *', tz: 'Europe/Berlin' }) {
  const body = { name, schedule, payload: { kind: 'agentTurn', message: '[[reply: done]]' } };
  return (await dashboard.rig.post('/v1/crons', body)).body;
}

test('a cron is added in the page; a schedule that is none is refused with its field', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open('/crons');
  await page.getByRole('button', { name: 'Add a cron' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a cron' });
  await dialog.getByLabel('Name', { exact: true }).fill('morning');
  await dialog.getByRole('textbox', { name: 'Cron expression' }).fill('61 9 * * *');
  await dialog.getByLabel('Text', { exact: true }).fill('What is new?');
  await dialog.getByRole('button', { name: 'Add the cron' }).click();
  await dialog.getByText('schedule.expr').first().waitFor();
  expect(await cronNamed('morning')).toBeUndefined();
  await dialog.getByRole('textbox', { name: 'Cron expression' }).fill('0 9 * * 1-5');
  await dialog.getByLabel('Time zone').fill('Europe/Berlin');
  await dialog.getByRole('button', { name: 'Add the cron' }).click();
  await page.getByRole('heading', { name: 'morning' }).waitFor();
  await page.getByText('At 09:00, Monday through Friday').waitFor();
  expect(await cronNamed('morning')).toMatchObject({
    schedule: { kind: 'cron', expr: '0 9 * * 1-5', tz: 'Europe/Berlin' },
    payload: { kind: 'agentTurn', message: 'What is new?' },
    origin: 'api',
  });
});

test('a cron is paused, resumed, run, edited and deleted, by keyboard alone', async () => {
  const { page, signIn, open, rig } = dashboard;
  const { id } = await made('kept');
  await signIn();
  await open('/crons');
  const press = async (name: string): Promise<void> => {
    await page.getByRole('button', { name, exact: true }).focus();
    await page.keyboard.press('Enter');
  };
  await page.getByRole('link', { name: 'kept' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'kept' }).waitFor();
  await press('Pause cron');
  await expect.poll(async () => (await cronNamed('kept')).enabled).toBe(false);
  await press('Resume cron');
  await expect.poll(async () => (await cronNamed('kept')).enabled).toBe(true);
  await press('Run now');
  await page.getByText('by hand').waitFor();
  expect((await rig.get(`/v1/crons/${id}/fires`)).body.items).toMatchObject([{ isManual: true, costMicros: 0 }]);
  await press('Change…');
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill('changed');
  await press('Save the cron');
  await expect.poll(async () => (await cronNamed('kept')).payload).toEqual({ kind: 'agentTurn', message: 'changed' });
  await press('Delete…');
  await page.getByRole('heading', { name: 'Delete the cron “kept”?' }).waitFor();
  await press('Delete the cron');
  await page.getByRole('heading', { name: 'Crons' }).waitFor();
  expect(await cronNamed('kept')).toBeUndefined();
});

test('the next runs show where the clocks change, and the last ones their cost', async () => {
  const { page, signIn, open, rig } = dashboard;
  const { id } = await made('yearly', { kind: 'cron', expr: '0 12 1 1,7 *', tz: 'Europe/Berlin' });
  await rig.post(`/v1/crons/${id}/run`, {});
  const [fire] = (await rig.get(`/v1/crons/${id}/fires`)).body.items;
  const { sessionKey } = (await rig.get(`/v1/messages/${fire.messageId}`)).body;
  await rig.work(sessionKey.split(':').slice(2).join(':'));
  await signIn();
  await open(`/crons/${id}`);
  await page.getByText('after the clocks went forward 60 min').first().waitFor();
  await page.getByText('after the clocks went back 60 min').first().waitFor();
  const fires = page.getByRole('region', { name: 'Last runs' });
  await fires.getByText('completed').waitFor();
  await fires.getByText(/\$0\.\d+/).waitFor();
  await page.getByText(/^[01] runs? at the average cost of the last ones$/).waitFor();
  await open('/crons');
  const row = page.getByRole('row').filter({ hasText: 'yearly' });
  await row.getByRole('img', { name: 'Oldest first: completed' }).waitFor();
  expect(await row.locator('time').count()).toBe(3);
});

test('each agent says when it is polled, and what must have changed', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open('/heartbeats');
  const agent = page.getByRole('region', { name: 'Agents' }).getByRole('listitem').filter({ hasText: 'main' });
  await agent.getByText('09:00 to 17:00 (Europe/Berlin), if its file has changed').waitFor();
});

test('an agent is polled from the page, and the poll is in the list', async () => {
  const { page, signIn, open, rig } = dashboard;
  await signIn();
  await open('/heartbeats');
  await page.getByRole('button', { name: 'Poll main now' }).click();
  await page.getByRole('table', { name: 'Polls' }).getByText('a request').waitFor();
  expect((await rig.get('/v1/heartbeats')).body.items).toMatchObject([{ trigger: 'manual', agentId: 'main' }]);
});

test('a viewer sees crons and polls, and no button', async () => {
  const { page, signIn, open } = dashboard;
  const { id } = await made('seen');
  await signIn(VIEWER_KEY);
  for (const path of ['/crons', `/crons/${id}`, '/heartbeats']) {
    await open(path);
    await page.waitForLoadState('load');
    expect(await page.locator('main').getByRole('button').count(), path).toBe(0);
  }
});

test('the zone of a cron can be chosen for the times of every screen, and is kept', async () => {
  const { page, rig, signIn, open } = dashboard;
  await rig.post('/v1/sessions/in-zone/messages', { text: '[[reply: hello]]' });
  await rig.work('in-zone');
  const turn = (await rig.get('/v1/turns?session=in-zone')).body.items[0];
  const cron = await made('zoned', { kind: 'cron', expr: '0 9 * * *', tz: 'Asia/Kathmandu' });
  await signIn();
  await open(`/crons/${cron.id}`);
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('combobox', { name: 'Time zone' }).selectOption('utc');
  const slots = page.getByRole('region', { name: 'Next runs' });
  const [slot] = (await rig.get(`/v1/crons/${cron.id}/next?count=1`)).body.items;
  await slots.locator(`time[datetime="${slot.slotAt}"]`).getByText('03:15:00').waitFor();
  await slots.getByText('Times are in UTC').waitFor();
  await page.getByRole('combobox', { name: 'Time zone' }).selectOption('Asia/Kathmandu');
  await slots.locator(`time[datetime="${slot.slotAt}"]`).getByText('09:00:00').waitFor();
  await open(`/turns/${turn.id}`);
  const expected = new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'medium',
    timeZone: 'Asia/Kathmandu',
  }).format(new Date(turn.startedAt));
  await expect.poll(() => page.locator(`time[datetime="${turn.startedAt}"]`).first().textContent()).toBe(expected);
});
