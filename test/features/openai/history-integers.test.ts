// The history of a client, whose calls have arguments with integers that JavaScript rounds.
import { expect, test } from 'vitest';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { readEntries } from '../../rows/entries.ts';

const holder = useApiRig();
const ARGUMENTS = '{"id":9007199254740993,"ids":[-12345678901234567890]}';

test('integers beyond 2^53 in the arguments of a call are stored and sent to the model with their digits', async () => {
  const { rig } = holder;
  const input = [
    { role: 'user', content: 'Find it.' },
    { type: 'function_call', call_id: 'call_1', name: 'find', arguments: ARGUMENTS },
    { type: 'function_call_output', call_id: 'call_1', output: 'here' },
    { role: 'assistant', content: 'Found.' },
    { role: 'user', content: 'And now? [[reply: Done.]]' },
  ];
  const headers = { 'x-holdfast-session-key': 'history' };
  expect((await rig.post('/v1/responses', { model: 'holdfast', background: true, input }, headers)).status).toBe(200);
  await rig.work('history');
  const [row] = await readEntries(rig, { kind: 'answer' }, 'contentText');
  expect(row?.contentText).toContain(`"input":${ARGUMENTS}`);
  const [{ id }] = (await rig.get('/v1/turns?session=history')).body.items;
  const request = await rig.app.inject({
    url: `/v1/turns/${id}/requests/1`,
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
  });
  expect(request.payload).toContain(`"input":${ARGUMENTS}`);
  expect(request.json()).toMatchObject({ matches: true });
});
