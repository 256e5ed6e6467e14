// Channels in the dashboard, with a bot on a scripted Telegram whose account is read meanwhile: its
// state, and people who ask to write to it.
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openChannels } from '../../src/features/channels/poll-accounts.ts';
import { createLogger } from '../../src/logger.ts';
import { startScriptedTelegram, TELEGRAM_TOKEN } from '../../scripted-platform/telegram/scripted-telegram.ts';
import { BOT, telegramChannel } from '../features/channels/channel-rig.ts';
import { readBodies } from '../rows/channels.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { violationsOn } from './axe.ts';
import { useDashboard, VIEWER_KEY } from './dashboard-rig.ts';
import { handOf } from './hand.ts';

const telegram = await startScriptedTelegram({ readsAllGroupMessages: false });
shareAmongTests(async (onEnd) => onEnd(async () => telegram.close()));
const dashboard = useDashboard({
  file: { channels: telegramChannel(telegram, 'poll', { dm: 'pairing' }), messages: { queue: { debounceMs: 0 } } },
});

/** A process reads the account until the test is over. */
beforeEach(async () => {
  const { service } = dashboard.rig.context;
  const stopped = new AbortController();
  const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
  const identity = { id: '', name: 'host:1:test', host: 'host', pid: 1, roles: ['worker'], version: '0' };
  const { rounds = [] } = await openChannels({ service, logger, identity });
  const running = (async () => {
    while (!stopped.signal.aborted) await rounds.at(-1)!.round(stopped.signal);
  })();
  onTestFinished(async () => {
    stopped.abort();
    await running;
  });
});

interface Request {
  id: string;
  code: string;
  senderId: string;
  status: string;
}

/** The request of a person, once it is stored. */
async function requestOf(person: number): Promise<Request> {
  const find = async (): Promise<Request | undefined> => {
    const { items } = (await dashboard.rig.get('/v1/pairings')).body;
    return items.find(({ senderId }: Request) => senderId === String(person));
  };
  await expect.poll(find).toBeDefined();
  return (await find())!;
}

const textsOf = async (person: number) =>
  (await readBodies(dashboard.rig, `telegram:direct:${person}`)).map(({ text }) => text);

describe('a person who asks to write', () => {
  test('appears without a reload, needs attention, and may write once it is approved', async () => {
    const { page, signIn, open } = dashboard;
    await signIn();
    await open('/channels');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByText('No one asks to write.').waitFor();
    telegram.say({ from: { id: 42, first_name: 'Ada' }, text: 'May I?' });
    const { code } = await requestOf(42);
    const row = page.getByRole('row').filter({ hasText: code });
    await row.getByText('42 (Ada)').waitFor();
    await row.getByText('telegram/main').waitFor();

    await open('/');
    await page.getByRole('link', { name: '1 person asks to write to the bot telegram/main' }).click();
    await page.getByRole('button', { name: `Approve ${code}` }).click();
    await page.getByText('42 (Ada) may write now, and is notified.').waitFor();
    await expect
      .poll(() => page.evaluate('document.activeElement.role ?? document.activeElement.tagName'))
      .toBe('status');
    await row.waitFor({ state: 'detached' });
    telegram.say({ from: 42, text: 'Hello' });
    await expect.poll(() => textsOf(42)).toEqual(['Hello']);

    await page.getByRole('combobox', { name: 'Status' }).selectOption('approved');
    await row.getByText('approved', { exact: true }).waitFor();
    await row.getByRole('link', { name: 'Deliveries to the chat 42' }).click();
    await page
      .getByRole('link', { name: /^command / })
      .last()
      .click();
    await page.getByRole('region', { name: 'Delivery' }).getByText('telegram/main/42', { exact: true }).waitFor();
  });

  test('is shown with the name that it has chosen as text, with marks for what cannot be seen', async () => {
    const { page, signIn, open } = dashboard;
    telegram.say({
      from: { id: 43, first_name: '<img src=x onerror="globalThis.wasRun = true"> \u202eevil\u200b' },
      text: 'x',
    });
    const { code } = await requestOf(43);
    await signIn();
    await open('/channels');
    const row = page.getByRole('row').filter({ hasText: code });
    await row.getByText('<img src=x').waitFor();
    expect(await row.locator('.mark').allTextContents()).toEqual(['U+202E', 'U+200B']);
    await page.getByRole('button', { name: `Deny ${code}` }).click();
    await row.waitFor({ state: 'detached' });
    await page.getByRole('combobox', { name: 'Status' }).selectOption('denied');
    await page.getByRole('button', { name: `Delete… ${code}` }).click();
    const question = page.getByRole('dialog');
    expect(await question.locator('.mark').count()).toBe(2);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await violationsOn(page)).toEqual([]);
    await question.getByRole('button', { name: 'Delete the request' }).click();
    await page.getByText('may not write, and can ask again.').waitFor();
    await row.waitFor({ state: 'detached' });
    expect(await page.locator('main img').count()).toBe(0);
    expect(await page.evaluate(() => 'wasRun' in globalThis)).toBe(false);
  });

  test('is denied by the keyboard alone; a decision that comes second says so, and a viewer has no buttons', async () => {
    const { page, rig, context, signIn, open } = dashboard;
    telegram.say({ from: { id: 44, first_name: 'Bob' }, text: 'Me too' });
    const { id, code } = await requestOf(44);
    await signIn(VIEWER_KEY);
    await open('/channels');
    await page.getByText(code).waitFor();
    expect(
      await page
        .locator('main')
        .getByRole('button', { name: /Approve|Deny|Delete|Pause|Test/ })
        .count(),
    ).toBe(0);
    await context.clearCookies();
    await signIn();
    await open('/');
    await page.keyboard.press('g');
    await page.keyboard.press('n');
    await handOf('keyboard', page).press(`Deny ${code}`);
    await expect.poll(async () => (await requestOf(44)).status).toBe('denied');
    await page.getByText('44 (Bob) may not write, and is not notified.').waitFor();

    await rig.ask('DELETE', `/v1/pairings/${id}`);
    telegram.say({ from: { id: 44, first_name: 'Bob' }, text: 'Again' });
    const again = await requestOf(44);
    await page.getByRole('button', { name: `Approve ${again.code}` }).waitFor();
    await page.getByRole('banner').getByRole('button', { name: 'Pause' }).click();
    await rig.post(`/v1/pairings/${again.id}/deny`, {});
    await page.getByRole('button', { name: `Approve ${again.code}` }).click();
    await page.getByRole('alert').getByText('was denied by admin').waitFor();
  });
});

test('an account is paused and resumed, its test says what to do, and one that is lost says why', async () => {
  const { page, signIn, open } = dashboard;
  await signIn();
  await open('/channels');
  await page.getByText('Live', { exact: true }).waitFor();
  const account = page.getByRole('region', { name: 'Accounts' }).getByRole('row').filter({ hasText: 'telegram/main' });
  await account.getByText('connected', { exact: true }).waitFor();
  await account.getByText(BOT, { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Test telegram/main' }).click();
  await page.getByText(`telegram/main is the bot`).waitFor();
  const problems = page.getByRole('list', { name: 'To do for telegram/main' });
  await problems.getByText('/setprivacy').waitFor();

  await page.getByRole('button', { name: 'Pause telegram/main' }).click();
  await account.getByText('paused', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Resume telegram/main' }).click();
  await account.getByText('connected', { exact: true }).waitFor();

  telegram.revokeToken(TELEGRAM_TOKEN);
  onTestFinished(() => telegram.addToken(TELEGRAM_TOKEN));
  // Ends the poll that waits.
  telegram.say({ from: 45, text: 'Hello' });
  await account.getByText('lost', { exact: true }).waitFor();
  await account.getByText(/Unauthorized|token/).waitFor();
  await page.getByRole('button', { name: 'Test telegram/main' }).click();
  await page.getByText('The test of telegram/main has failed').waitFor();
  expect(await violationsOn(page)).toEqual([]);
});
