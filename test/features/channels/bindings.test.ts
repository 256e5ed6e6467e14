// Which agent gets the messages of a chat, as the API and the command line explain it.
import { expect, test } from 'vitest';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { runCli } from '../../cli/run-cli.ts';

const BINDINGS = [
  { agent: 'support', match: { channel: 'telegram', accountId: 'shop' } },
  { agent: 'main', match: { channel: 'telegram', chatId: '-100123' } },
];

const holder = useApiRig({
  file: {
    agents: { list: [{ id: 'main' }, { id: 'support' }] },
    channels: { telegram: { accounts: { shop: {} } }, signal: {} },
    bindings: BINDINGS,
  },
});

const explain = async (query: string) => holder.rig.get(`/v1/bindings/explain?${query}`);

test('the binding that decides is shown with all others that match, the most specific first', async () => {
  const [shop, group] = BINDINGS.map((binding, index) => ({ index, ...binding }));
  expect((await explain('channel=telegram&accountId=shop&chatId=-100123')).body).toEqual({
    agent: 'main',
    binding: group,
    candidates: [group, shop],
  });
  expect((await explain('channel=telegram&accountId=shop')).body).toMatchObject({ agent: 'support', binding: shop });
  expect((await explain('channel=signal&chatId=1')).body).toEqual({ agent: 'main', binding: null, candidates: [] });
  expect((await holder.rig.get('/v1/bindings')).body).toEqual({ defaultAgent: 'main', items: [shop, group] });
});

test('a channel or an account that the configuration does not have is refused with those that it has', async () => {
  expect(await explain('channel=telegramm')).toMatchObject({
    status: 400,
    body: {
      code: 'invalid_query',
      errors: [
        { path: 'channel', message: '"telegramm" is not in the configuration; expected one of telegram, signal' },
      ],
    },
  });
  expect((await explain('channel=signal&accountId=shop')).body.errors[0].message).toBe(
    '"shop" is not in the configuration; the configuration has none',
  );
  expect(await explain('chatId=1')).toMatchObject({ status: 400, body: { errors: [{ path: 'channel' }] } });
});

test('the command line lists bindings and explains a chat', async () => {
  const env = { HOLDFAST_URL: await holder.rig.listen(), HOLDFAST_API_KEY: ADMIN_KEY };
  const listed = await runCli(['bindings', 'list'], { env });
  expect(listed.stdout).toMatch(/0 +support +channel telegram, accountId shop/);
  const chat = ['--account', 'shop', '--chat', '-100123'];
  const explained = await runCli(['bindings', 'explain', 'telegram', ...chat], { env });
  expect(explained.stdout).toBe('agent main, by bindings[1] (agent main: channel telegram, chatId -100123)\n');
  const other = await runCli(['bindings', 'explain', 'signal'], { env });
  expect(other.stdout).toBe('agent main, no binding matches: it is the first agent\n');
});
