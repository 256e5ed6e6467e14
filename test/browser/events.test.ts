// The live log of events: its filters, a pause without a gap, a log that was trimmed, and its
// bound.
import { expect, test } from 'vitest';
import { trimEvents } from '../../src/features/retention/rounds.ts';
import { newId } from '../../src/ids.ts';
import { addEvents, changeEvents, idInTransaction, readEvents } from '../rows/events.ts';
import { earlier } from '../rows/table.ts';
import { changeRollUpCursor } from '../rows/usage.ts';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();

async function answer(session: string): Promise<void> {
  const { rig } = dashboard;
  await rig.post(`/v1/sessions/${session}/messages`, { text: '[[reply: hello]]' });
  await rig.work(session);
}

/** The screen with these filters, once its stream is open. */
async function openEvents(query = '') {
  const { page, open } = dashboard;
  await open(`/events${query}`);
  await page.getByText('Receiving', { exact: true }).waitFor();
  return page.getByRole('log', { name: 'Events' });
}

test('the events of the last hour are there, others appear as they happen, by type and session in the URL', async () => {
  const { page, rig, signIn } = dashboard;
  await answer('watched');
  await changeEvents(rig, { sessionKey: 'agent:main:watched' }, { createdAt: earlier('2 hours') });
  await answer('watched');
  await signIn();
  const log = await openEvents('?session=watched');
  const ends = log.getByText('turn.ended', { exact: true });
  await expect.poll(() => ends.count()).toBe(1);
  await answer('unwatched');
  await answer('watched');
  await expect.poll(() => ends.count()).toBe(2);
  expect(await log.getByText('agent:main:unwatched').count()).toBe(0);
  const types = page.getByRole('combobox', { name: 'Types' });
  await types.selectOption('all of turn');
  await expect.poll(() => new URL(page.url()).searchParams.get('types')).toContain('turn.started,turn.parked');
  await expect
    .poll(() => log.locator('strong').allTextContents())
    .toEqual(['turn.ended', 'turn.started', 'turn.ended', 'turn.started']);
  await types.selectOption('turn.ended');
  await expect.poll(() => log.locator('strong').allTextContents()).toEqual(['turn.ended', 'turn.ended']);
});

test('a pause before the first event, and one after it, leave no gap and repeat nothing', async () => {
  const { page, signIn } = dashboard;
  await signIn();
  const log = await openEvents('?session=held&types=turn.ended');
  await page.getByText('none yet').waitFor({ state: 'detached' });
  for (const count of [1, 2]) {
    await page.getByRole('button', { name: 'Pause events' }).click();
    await page.getByText('Paused', { exact: true }).waitFor();
    await answer('held');
    expect(await log.locator('strong').count()).toBe(count - 1);
    await page.getByRole('button', { name: 'Resume events' }).click();
    await expect.poll(() => log.locator('strong').count()).toBe(count);
  }
});

test('a log that was trimmed during a pause says so', async () => {
  const { page, rig, signIn } = dashboard;
  await signIn();
  const log = await openEvents('?session=trimmed');
  await answer('trimmed');
  await log.getByText('turn.ended', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Pause events' }).click();
  await answer('trimmed');
  await changeEvents(rig, {}, { createdAt: earlier('1 day') });
  await changeRollUpCursor(rig, {}, { afterId: (await readEvents(rig, {}, 'id')).at(-1)!.id });
  await trimEvents(rig.turns.database, 3_600_000);
  await page.getByRole('button', { name: 'Resume events' }).click();
  await log.getByText('Events after the last id were deleted').waitFor();
});

test('5,000 events leave 2,000 in the log and few in the document', async () => {
  const { page, rig, signIn } = dashboard;
  await signIn();
  const log = await openEvents('?types=delivery.sent');
  await page.getByText('none yet').waitFor({ state: 'detached' });
  const data = { deliveryId: newId<string>(), attempt: 1, status: 'sent', httpStatus: 200 };
  const sent = { type: 'delivery.sent', data };
  await addEvents(rig, ...Array.from({ length: 5000 }, (_, n) => ({ id: idInTransaction(n + 1), ...sent })));
  await page.getByText('2,000 shown, 3,000 older ones dropped').waitFor();
  expect(await log.locator('.event-row').count()).toBeLessThan(40);
});

test('the command for curl has the filters and the last id, and no key', async () => {
  const { page, context, url, signIn } = dashboard;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await signIn();
  await openEvents('?session=copied&types=turn.ended');
  await page.getByText('none yet').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  await page.getByText('Copied', { exact: true }).waitFor();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(copied).toContain(
    `curl -N -H "Authorization: Bearer $HOLDFAST_API_KEY" '${url}/v1/events?types=turn.ended&session=copied&after=`,
  );
});
