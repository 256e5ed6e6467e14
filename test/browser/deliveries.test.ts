// The outbox in the browser: found by its filters, opened with its attempts, redriven and
// discarded; and the tabs of a turn that show what followed it.
import { expect, test } from 'vitest';
import type { SessionId } from '../../src/core/ids.ts';
import { claimDelivery } from '../../src/features/deliveries/store/claims.ts';
import { settleDelivery } from '../../src/features/deliveries/store/settle.ts';
import { newId } from '../../src/ids.ts';
import { addDeliveries, readDeliveries } from '../rows/deliveries.ts';
import { now } from '../rows/table.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';
import { handOf } from './hand.ts';

const dashboard = useDashboard();

/** A session with a delivery that the receiver has refused. */
async function refused(session: string): Promise<{ id: string; turnId: string }> {
  const { rig } = dashboard;
  const deliver = { url: 'http://127.0.0.1:9/replies' };
  await rig.post(`/v1/sessions/${session}/messages`, { text: '[[reply: Hello.]]', deliver });
  await rig.work(session);
  const [row] = await readDeliveries(rig, { sessionKey: `agent:main:${session}` }, 'sessionId');
  const { database } = rig.turns;
  const sessionId = row?.['sessionId'] as SessionId;
  for (const status of ['pending', 'failed'] as const) {
    const delivery = await claimDelivery(database, { sessionId, owner: 'relay', leaseMs: 60_000 });
    if (delivery === null) throw new Error('no delivery is due');
    const lastStatus = status === 'pending' ? 503 : 410;
    const lastError = `the receiver answered ${lastStatus}`;
    await settleDelivery(database, { delivery, owner: 'relay', status, lastStatus, lastError });
  }
  return (await rig.get(`/v1/deliveries?session=${session}`)).body.items[0];
}

const statusOf = async (id: string): Promise<string> => (await dashboard.rig.get(`/v1/deliveries/${id}`)).body.status;

test('a refused delivery is found by its status, shows its attempts, and is redriven by keyboard', async () => {
  const { page, signIn, open } = dashboard;
  const { id } = await refused('refused');
  await signIn();
  await open('/deliveries');
  await page.getByRole('list', { name: 'By status' }).getByRole('link', { name: 'failed' }).click();
  await page.getByLabel('Session', { exact: true }).fill('refused');
  await page.keyboard.press('Enter');
  await expect.poll(() => new URL(page.url()).search).toBe('?status=failed&session=refused');
  await page.locator('[role=row][tabindex="0"]').focus();
  await page.keyboard.press('Enter');
  const details = page.getByRole('region', { name: 'Delivery' });
  const attempts = details.getByRole('table', { name: 'Attempts' });
  await attempts.getByText('503', { exact: true }).waitFor();
  await attempts.getByText('410', { exact: true }).waitFor();
  await details.getByText('"text": "Hello."').waitFor();

  await details.getByRole('button', { name: 'Redrive…' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Redrive the delivery' }).focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => statusOf(id)).toBe('pending');
  await details.getByText('pending', { exact: true }).first().waitFor();
  await page.goBack();
  await expect.poll(() => new URL(page.url()).search).toBe('?status=failed&session=refused');
});

test('a delivery is discarded with a reason, and a filter is counted before it is redriven', async () => {
  const { page, rig, signIn, open } = dashboard;
  const { id } = await refused('discarded');
  await signIn();
  await open(`/deliveries?open=${id}`);
  await page.getByRole('button', { name: 'Discard…' }).click();
  await page.getByLabel('Reason').fill('the receiver is gone');
  await page.getByRole('button', { name: 'Discard the delivery' }).click();
  await expect.poll(() => statusOf(id)).toBe('discarded');
  expect((await rig.get('/v1/audit')).body.items[0]).toMatchObject({ reason: 'the receiver is gone' });

  await open('/deliveries?status=discarded&session=discarded&channel=webhook');
  await handOf('mouse', page).press('Redrive all that match…');
  await page.getByRole('button', { name: 'Redrive 1 delivery', exact: true }).click();
  await page.getByText('0 done, 0 skipped, 0 failed of 1').waitFor();
  const { items } = (await rig.get('/v1/bulk-actions')).body;
  expect(items[0]).toMatchObject({ action: 'redrive', target: 'deliveries', total: 1 });
});

test('a viewer sees a delivery and no button that changes it', async () => {
  const { page, signIn, open } = dashboard;
  const { id, turnId } = await refused('viewed');
  await signIn(VIEWER_KEY);
  await open(`/deliveries?open=${id}`);
  await page.getByRole('table', { name: 'Attempts' }).waitFor();
  expect(await page.getByRole('button', { name: /redrive|discard/i }).count()).toBe(0);
  await open(`/turns/${turnId}`);
  await page.getByText('the receiver answered 410').waitFor();
  expect(await page.getByRole('button', { name: /redrive/i }).count()).toBe(0);
});

test('a turn shows its deliveries and redrives one that ended without success, and the turn of a subagent how its end was announced', async () => {
  const { page, rig, signIn, open } = dashboard;
  const { id, turnId } = await refused('sent');
  await signIn();
  await open(`/turns/${turnId}`);
  await page.getByRole('region', { name: 'Answer' }).getByText('the receiver answered 410').waitFor();
  const redrive = page.getByRole('button', { name: 'Redrive the delivery…' });
  await redrive.click();
  const dialog = page.getByRole('dialog', { name: 'Send this delivery again?' });
  await dialog.getByRole('button', { name: 'Redrive the delivery' }).click();
  await expect.poll(() => statusOf(id)).toBe('pending');
  await redrive.waitFor({ state: 'detached' });
  await page.getByRole('tab', { name: 'Deliveries' }).click();
  await page.getByText('"text": "Hello."').waitFor();
  await page.getByRole('tab', { name: 'Announcement' }).click();
  await page.getByText('only the end of a subagent is announced').waitFor();

  const { childSessionKey } = (await rig.post('/v1/sessions/boss/spawn', { task: '[[reply: forty-two]]' })).body;
  await rig.work(childSessionKey);
  const child = (await rig.get(`/v1/turns?session=${encodeURIComponent(childSessionKey)}`)).body.items[0];
  await open(`/turns/${child.id}?tab=announcement`);
  const announcement = page.getByRole('region', { name: 'Announcement' });
  await announcement.getByRole('link', { name: 'agent:main:boss' }).waitFor();
  await announcement.getByText('forty-two').first().waitFor();
});

test('a part that may have arrived in a chat shows its chat and its place, says what to do, and is discarded', async () => {
  const { page, rig, signIn, open } = dashboard;
  const id = newId<string>();
  const sessionId = await rig.turns.sessionOf('in-parts');
  const target = { url: 'channel:telegram/main/-1001/7' };
  const sent = { sessionId, target, channel: 'telegram', payload: { type: 'reply', text: 'One.' }, parts: 2 };
  await addDeliveries(
    rig,
    { ...sent, part: 1, status: 'sent', settledAt: now, platformId: '1042' },
    { ...sent, id, part: 2, status: 'unknown', settledAt: now },
  );
  await signIn();
  await open('/deliveries?session=in-parts');
  await page.getByRole('link', { name: /^reply .*, 1 of 2$/ }).click();
  const details = page.getByRole('region', { name: 'Delivery' });
  await details.getByText('1042', { exact: true }).waitFor();
  await page.getByRole('link', { name: /^reply .*, 2 of 2$/ }).click();
  await details.getByText('telegram/main/-1001/7', { exact: true }).waitFor();
  await details.getByText('2 of 2', { exact: true }).waitFor();
  await details.getByText('redrive it if the message is not there').waitFor();
  await details.getByRole('button', { name: 'Redrive…' }).click();
  await page.getByText('If the chat has the message already, it is there twice.').waitFor();
  await page.getByRole('button', { name: 'Leave it' }).click();
  await details.getByRole('button', { name: 'Discard…' }).click();
  await page.getByRole('button', { name: 'Discard the delivery' }).click();
  await expect.poll(() => statusOf(id)).toBe('discarded');
});
