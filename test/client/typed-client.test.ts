// The typed client against a real API on a real database. Faults between the two are played by the
// `fetch` that the client is given: it sends the request, or not, and then breaks.
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createClient, HoldfastError, type ClientOptions } from '../../src/client/create-client.ts';
import { ADMIN_KEY } from '../api/api-rig.ts';
import { useApiRig } from '../api/use-api-rig.ts';

const holder = useApiRig();
let url = '';

beforeEach(async () => {
  url = await holder.rig.listen();
});

function connect(options: Partial<ClientOptions> = {}) {
  return createClient({ url, key: ADMIN_KEY, ...options });
}

/** The actions of `faults`, one request after the other; later requests are sent unchanged. */
function withFaults(...faults: ((send: () => Promise<Response>, init: RequestInit) => Promise<Response>)[]) {
  const sent: { method: string; headers: Headers }[] = [];
  const fetch: NonNullable<ClientOptions['fetch']> = (input, init = {}) => {
    sent.push({ method: init.method ?? 'GET', headers: new Headers(init.headers) });
    const fault = faults[sent.length - 1] ?? ((send) => send());
    return fault(() => globalThis.fetch(input, init), init);
  };
  return { sent, fetch };
}

const breaks = () => Promise.reject(new TypeError('the connection broke'));
const answers =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    Promise.resolve(new Response('<h1>away</h1>', { status, headers }));

async function errorOf(call: Promise<unknown>): Promise<HoldfastError> {
  const error: unknown = await call.then(
    () => null,
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(HoldfastError);
  return error as HoldfastError;
}

const CRON = {
  schedule: { kind: 'every', everyMs: 3_600_000 },
  payload: { kind: 'systemEvent', text: 'Tea.' },
} as const;

test('functions send path, query and body, and give the answer', async () => {
  const client = connect();
  const cron = await client.createCron({ body: { name: 'tea', ...CRON } });
  expect(await client.getCron({ id: cron.id })).toEqual(cron);
  const { message } = await client.sendMessage({ key: 'agent:main:a+b@c.d', body: { text: 'Hello' } });
  expect(message.sessionKey).toBe('agent:main:a+b@c.d');
  const { items } = await client.listMessages({ status: ['waiting', 'claimed'], limit: 1, cursor: undefined });
  expect(items.map(({ id }) => id)).toEqual([message.id]);
  expect(await client.getMetrics()).toContain('# HELP');
  expect(await client.deleteCron({ id: cron.id })).toEqual({ deleted: true });
});

test('a refused request throws the fields of the problem', async () => {
  const missing = await errorOf(connect().getCron({ id: crypto.randomUUID() }));
  expect(missing).toMatchObject({ code: 'not_found', status: 404, title: 'Not found', field: null });
  expect(missing.requestId).toEqual(expect.any(String));
  // @ts-expect-error The types refuse it, too.
  const invalid = await errorOf(connect().createCron({ body: { name: 'x', ...CRON, wake: 'never' } }));
  expect(invalid).toMatchObject({ code: 'invalid_body', status: 400, field: 'wake' });
  expect(invalid.fix).toContain('Correct');
  expect(await errorOf(connect({ key: 'wrong' }).getStats())).toMatchObject({ code: 'unauthorized', status: 401 });
  expect(() => connect().getCron({ id: '..' })).toThrow('id is ".."');
});

test('an answer of something else is not taken for one of the API', async () => {
  const { fetch } = withFaults(() => Promise.resolve(new Response('<h1>Sign in</h1>')));
  expect(await errorOf(connect({ fetch }).getStats())).toMatchObject({ code: 'not_holdfast', status: 200 });
  const proxy = withFaults(answers(502));
  expect(await errorOf(connect({ fetch: proxy.fetch, retriesMax: 0 }).getStats())).toMatchObject({
    code: 'http_502',
    status: 502,
    detail: '<h1>away</h1>',
  });
});

test('a POST whose connection breaks after its effect is sent again with its key, and has the effect once', async () => {
  const { sent, fetch } = withFaults(
    async (send) => {
      await (await send()).text();
      return breaks();
    },
    answers(503, { 'retry-after': '0' }),
    answers(429, { 'retry-after': '0' }),
  );
  await connect({ fetch }).sendMessage({ key: 'once', body: { text: 'Hello' } });
  const keys = sent.map(({ headers }) => headers.get('idempotency-key'));
  expect(keys).toHaveLength(4);
  expect(new Set(keys).size).toBe(1);
  expect((await connect().getSession({ key: 'once' })).waitingMessages).toBe(1);
});

describe('a request is not sent again', () => {
  test('when that is not safe: PATCH, DELETE, a body that is a stream', async () => {
    for (const call of [
      (client: ReturnType<typeof connect>) => client.updateSession({ key: 'x', body: {} }),
      (client: ReturnType<typeof connect>) => client.deleteCron({ id: crypto.randomUUID() }),
      (client: ReturnType<typeof connect>) => client.postBatches({ body: new Blob(['{"text": "x"}\n']).stream() }),
    ]) {
      const { sent, fetch } = withFaults(breaks);
      expect(await errorOf(call(connect({ fetch })))).toMatchObject({ code: 'connection_failed', status: null });
      expect(sent).toHaveLength(1);
    }
  });

  test('when the error is final, and when the service asks for a longer wait than the client makes', async () => {
    for (const fault of [answers(500), answers(429), answers(503, { 'retry-after': '3600' })]) {
      const { sent, fetch } = withFaults(fault);
      await errorOf(connect({ fetch }).getStats());
      expect(sent).toHaveLength(1);
    }
  });

  test('more often than the bound', async () => {
    const { sent, fetch } = withFaults(breaks, breaks, breaks);
    expect(await errorOf(connect({ fetch, retriesMax: 2 }).getStats())).toMatchObject({ code: 'connection_failed' });
    expect(sent).toHaveLength(3);
  });
});

/** A service that takes the request and never answers. */
const isSilent = (_send: unknown, init: RequestInit) =>
  new Promise<Response>((_resolve, reject) =>
    init.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error)),
  );

test('a call ends with its deadline and with the signal of its caller', async () => {
  const { fetch } = withFaults(isSilent, isSilent);
  const client = connect({ fetch, timeoutMs: 1 });
  expect(await errorOf(client.getStats())).toMatchObject({ code: 'no_answer_in_time', status: null });
  const leaving = new AbortController();
  const call = client.getStats({}, { signal: leaving.signal, timeoutMs: 600_000 });
  leaving.abort(new Error('the page was closed'));
  await expect(call).rejects.toThrow('the page was closed');
});

test('a page of the service itself signs in, and its cookie is enough from then on', async () => {
  // As a browser does it: addresses belong to the page, and the cookie is sent with every request.
  let cookie = '';
  const fetch: NonNullable<ClientOptions['fetch']> = async (input, init) => {
    const headers = new Headers(init?.headers);
    if (cookie !== '') headers.set('cookie', cookie);
    const response = await globalThis.fetch(typeof input === 'string' ? url + input : input, { ...init, headers });
    cookie = response.headers.get('set-cookie')?.split(';', 1)[0] ?? cookie;
    return response;
  };
  const page = createClient({ url: '', fetch });
  expect(await errorOf(page.getStats())).toMatchObject({ code: 'unauthorized' });
  expect(await page.signIn({ body: { key: ADMIN_KEY } })).toBeUndefined();
  expect(await page.getSignIn()).toMatchObject({ role: 'admin' });
  const cron = await page.createCron({ body: { name: 'by a page', ...CRON } });
  expect(await page.deleteCron({ id: cron.id })).toEqual({ deleted: true });
  await page.signOut();
  expect(await errorOf(page.getStats())).toMatchObject({ code: 'unauthorized' });
});

test('each item of a list is returned once, across its pages', async () => {
  const client = connect();
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) {
    const { id } = await client.createCron({ body: { name: `each-${n}`, ...CRON } });
    onTestFinished(async () => void (await client.deleteCron({ id })));
    ids.unshift(id);
  }
  const names: string[] = [];
  for await (const { name } of client.each('listCrons', { limit: 2 })) names.push(name);
  expect(names.toSorted()).toEqual(['each-0', 'each-1', 'each-2', 'each-3', 'each-4']);
  const { sent, fetch } = withFaults();
  for await (const { id } of connect({ fetch }).each('listCrons', { limit: 2 })) if (ids.includes(id)) break;
  expect(sent).toHaveLength(1);
});

test('a message is waited for', async () => {
  const { sent, fetch } = withFaults();
  const client = connect({ fetch });
  const sending = client.sendMessage({ key: 'waited', body: { text: '[[reply: Here.]]' } }, { waitSeconds: 30 });
  await expect
    .poll(async () => (await connect().listMessages({ status: ['waiting'] })).items.length)
    .toBeGreaterThan(0);
  await holder.rig.work('waited');
  const answer = await sending;
  expect('turn' in answer ? answer.reply : answer.disposition).toBe('Here.');
  expect(sent[0]?.headers.get('prefer')).toBe('wait=30');
});
