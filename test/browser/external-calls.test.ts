// Calls of external tools on the screen of waiting messages: what each asks of its program.
import { expect, test } from 'vitest';
import { violationsOn } from './axe.ts';
import { useDashboard } from './dashboard-rig.ts';

const inputSchema = { type: 'object' };
const external = ['refund', 'run'].map((name) => ({ name, description: 'Does it.', inputSchema, timeout: '2h' }));
const dashboard = useDashboard({ file: { tools: { external } } });

test('each call of an external tool that waits is shown with its whole input, until it has its result', async () => {
  const { rig, page, signIn, open, settle } = dashboard;
  for (const [session, call] of [
    ['shop', 'refund {"order": 42}'],
    ['site', 'run {"command": "make deploy"}'],
  ] as const) {
    await rig.post(`/v1/sessions/${session}/messages`, { text: `[[tool: ${call}]] [[reply: done]]` });
    await rig.work(session);
  }
  await signIn();
  await open('/waiting');
  const group = page.getByRole('region', { name: 'external_tool', exact: true });
  const refund = group.getByRole('region', { name: 'Call of refund' });
  await refund.getByText('"order": 42').waitFor();
  await refund.getByText('fails in').waitFor();
  await group.getByRole('region', { name: 'Call of run' }).getByText('make deploy', { exact: true }).waitFor();
  await settle();
  expect(await violationsOn(page)).toEqual([]);

  const { items } = (await rig.get('/v1/tool-calls?status=waiting&tool=refund')).body;
  await rig.post(`/v1/tool-calls/${items[0].id}/result`, { content: 'refunded' });
  await open('/waiting');
  await group.getByRole('region', { name: 'Call of run' }).waitFor();
  expect(await refund.count()).toBe(0);
});
