// Goal: integers that JavaScript would round appear with the digits that they were written with.
// Method: a client's tool with such an integer in its schema, through a real turn, in the request
// view, its copy and the transcript.
import { expect, test } from 'vitest';
import { changeEntries } from '../rows/entries.ts';
import { like, replaced } from '../rows/table.ts';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();
const INTEGER = '9007199254740993';
/** Sent as these digits. */
const WRITTEN = (JSON as unknown as { rawJSON: (text: string) => object }).rawJSON(INTEGER);

test('an integer beyond 2^53 in the schema of a tool is sent to the model, shown and copied as it was written', async () => {
  const { page, context, rig, signIn, open } = dashboard;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const parameters = { type: 'object', properties: { id: { type: 'integer', maximum: WRITTEN } } };
  const asked = await rig.post(
    '/v1/responses',
    { model: 'holdfast', input: 'look', background: true, tools: [{ type: 'function', name: 'find', parameters }] },
    { 'x-holdfast-session-key': 'integers' },
  );
  expect(asked.status).toBe(200);
  await rig.work('integers');
  const [{ id }] = (await rig.get('/v1/turns?session=integers')).body.items;
  await signIn();
  await open(`/turns/${id}?tab=request`);
  await page.getByText('proved equal').waitFor();
  const part = page.locator('details.part', { hasText: 'tools[' }).filter({ hasText: 'find' });
  await part.locator('summary').click();
  await part.getByText(`"maximum": ${INTEGER}\n`).waitFor();
  await page.getByRole('button', { name: 'Copy JSON' }).click();
  await page.getByText('Copied', { exact: true }).waitFor();
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toContain(`"maximum": ${INTEGER}\n`);
});

test('an integer beyond 2^53 in the arguments of a stored call is shown as it was written', async () => {
  const { page, rig, signIn, open } = dashboard;
  await rig.post('/v1/sessions/called/messages', { text: 'do [[tool: echo {"n": 1}]] [[reply: done]]' });
  await rig.work('called');
  await changeEntries(rig, { contentText: like('%"n":1%') }, { content: replaced('"n":1', `"n":${INTEGER}`) });
  await signIn();
  await open('/sessions/called');
  await page.getByText(`{"n":${INTEGER}}`).first().click();
  await page.getByRole('row', { name: `n ${INTEGER}`, exact: true }).waitFor();
  const [{ id }] = (await rig.get('/v1/turns?session=called')).body.items;
  await open(`/turns/${id}?tab=steps`);
  await page.locator('.tool-line > summary').click();
  await page.locator('.tool-details').getByText(INTEGER).first().waitFor();
});

test('an integer beyond 2^53 in the value of an answer of a form is shown as it was written', async () => {
  const { page, rig, signIn, open } = dashboard;
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  const text = `Which? [[reply: {"n": ${INTEGER}}]]`;
  await rig.post('/v1/sessions/formed/messages', { text, responseFormat: { type: 'json_schema', schema } });
  await rig.work('formed');
  const [{ id }] = (await rig.get('/v1/turns?session=formed')).body.items;
  await signIn();
  await open(`/turns/${id}`);
  await page.getByRole('region', { name: 'Answer' }).getByText(`n: ${INTEGER}`).waitFor();
});
