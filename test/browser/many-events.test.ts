// A page that receives many events keeps nothing of them: neither the document nor the memory of
// the browser grows with their number. `npm run soak:dashboard` sends them for half an hour.
import { expect, test } from 'vitest';
import { useDashboard } from './dashboard-rig.ts';
import { elementsOf, heapBytesOf } from './page-figures.ts';

const dashboard = useDashboard();
const EVENTS = 20_000;
const HEAP_BYTES_MAX = 20_000_000;

test('20,000 events leave the document as large as it was, and the memory less than 20 MB larger', async () => {
  const { page, rig, signIn, open, settle } = dashboard;
  await rig.post('/v1/sessions/busy/messages', { text: '[[reply: hello]]' });
  await rig.work('busy');
  await signIn();
  await open('/turns');
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByRole('row').nth(1).waitFor();
  await settle();
  const elements = await elementsOf(page);
  const heap = await heapBytesOf(page);

  await rig.rows(
    `insert into holdfast.events (id, session_id, turn_id, type, data)
     select (pg_current_xact_id()::text::bigint << 16) + n, t.session_id, t.id, (array['turn.started', 'model.ended', 'tool.ended', 'message.settled'])[1 + n % 4],
       e.data from generate_series(1, ${EVENTS}) as n, holdfast.turns t, holdfast.events e where e.type = 'turn.started' and e.turn_id = t.id`,
  );
  // The turns that have started: a quarter of the events, which are counted and not drawn. The
  // first turn counts as well when a transaction of another test on the same server has held back
  // its event until the page was live.
  await page.getByRole('button', { name: /^5,00[01] new$/ }).waitFor();
  await settle();
  // The button.
  expect(await elementsOf(page)).toBeLessThanOrEqual(elements + 2);
  expect((await heapBytesOf(page)) - heap).toBeLessThan(HEAP_BYTES_MAX);
});
