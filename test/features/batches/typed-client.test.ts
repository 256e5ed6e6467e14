// Batches by the typed client: submitted from an iterable, and their results read over connections
// that break.
import { expect, test } from 'vitest';
import { createClient, linesOf, type ClientOptions } from '../../../src/client/create-client.ts';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { batchRig } from './batch-rig.ts';

const shared = useApiRig();

async function* items() {
  for (const text of ['first', 'second 👍', 'third']) yield { text };
}

test('a batch is submitted as its items come, and each result is read once over broken connections', async () => {
  const url = await shared.rig.listen();
  const client = createClient({ url, key: ADMIN_KEY });
  const batch = await client.postBatches({ name: 'by the client', body: linesOf(items()) });
  const id = 'id' in batch ? batch.id : '';
  await batchRig(shared.rig).run(id);
  const whole = await Array.fromAsync(client.eachResult({ id }));
  expect(whole.map(({ n, status }) => [n, status])).toEqual([
    [1, 'answered'],
    [2, 'answered'],
    [3, 'answered'],
  ]);
  expect(whole[1]?.reply).toContain('second 👍');
  // Two connections break in the middle of a line, at any byte of it.
  const paths: string[] = [];
  const fetch: NonNullable<ClientOptions['fetch']> = async (input, init) => {
    paths.push(String(typeof input === 'string' ? new URL(input).search : ''));
    const response = await globalThis.fetch(input, init);
    if (paths.length > 2) return response;
    const bytes = new Uint8Array(await response.arrayBuffer());
    return new Response(bytes.slice(0, bytes.indexOf(0x0a) + 20));
  };
  const pieced = await Array.fromAsync(createClient({ url, key: ADMIN_KEY, fetch }).eachResult({ id }));
  expect(pieced).toEqual(whole);
  expect(paths).toEqual(['?after=0', '?after=1', '?after=2']);
  expect(await Array.fromAsync(client.eachResult({ id, afterItem: 2 }))).toEqual(whole.slice(2));
});

test('a stream of lines asks its items for no more when it is cancelled', async () => {
  let isClosed = false;
  async function* endless() {
    try {
      for (;;) yield { text: 'x' };
    } finally {
      isClosed = true;
    }
  }
  const reader = linesOf(endless()).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('{"text":"x"}\n');
  await reader.cancel();
  expect(isClosed).toBe(true);
});
