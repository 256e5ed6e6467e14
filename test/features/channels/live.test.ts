// While a turn works, its chat shows it: typing, a message with the text so far that becomes the
// answer, and a button that stops the turn (G1, G21).
import { describe, test } from 'vitest';
import type { SessionId } from '../../../src/core/ids.ts';
import { runApprovalRound } from '../../../src/features/approvals/rounds.ts';
import { removeLeftOver } from '../../../src/features/channels/live/finish-preview.ts';
import type { Database } from '../../../src/database/database.ts';
import { openChat } from '../../../src/features/channels/accounts.ts';
import { relayChats } from '../../../src/features/deliveries/chat-relay.ts';
import type { OutboxRelay } from '../../../src/features/deliveries/relay.ts';
import { createLogger } from '../../../src/logger.ts';
import { startScriptedTelegram, type ScriptedTelegram } from '../../../scripted-platform/telegram/scripted-telegram.ts';
import { createApiRig, type ApiRig } from '../../api/api-rig.ts';
import { changeChannelGates } from '../../rows/channel-gates.ts';
import { addChannelPreviews, readChannelPreviews } from '../../rows/channel-previews.ts';
import { changeDeliveries } from '../../rows/deliveries.ts';
import { ago, now } from '../../rows/table.ts';
import { readTurns } from '../../rows/turns.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { isLongForm } from '../../servers/test-form.ts';
import { killedAt } from './sending-rig.ts';
import { SECRET, telegramChannel, updateOf, WEBHOOK } from './channel-rig.ts';

const TIMEOUT_MS = 240_000;
/**
 * An answer that is written for about ten seconds: a chat is edited every two of them, or less
 * often where others are edited or the machine is busy.
 */
const WORDS = Array.from({ length: 300 }, (_, n) => `word ${n}`).join(' ');
const SLOW = `[[slow: 250]] [[reply: ${WORDS}]]`;
/** The same answer, written until it is stopped. */
const ENDLESS = `[[slow: 2500]] [[reply: ${WORDS}]]`;
/** People with these ids are owners. */
const OWNERS = Array.from({ length: 20 }, (_, n) => 101 + n);
const STRANGER = 9_000;
const GROUP = -500;

let telegram: ScriptedTelegram;
let api: ApiRig;

shareAmongTests(async (onEnd) => {
  telegram = await startScriptedTelegram();
  onEnd(() => telegram.close());
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const file = {
    messages: { queue: { debounceMs: 0 } },
    owner: { ids: OWNERS.map(String) },
    tools: { approvals: { rules: [{ tools: ['echo'] }], approvers: OWNERS.map((id) => `telegram:${id}`) } },
    channels: telegramChannel(telegram, 'webhook', { groupAllow: [String(GROUP), String(GROUP - 1)] }),
  };
  api = await createApiRig(database.url, { file });
  onEnd(() => api.close());
});

let people = 100;
const newPerson = () => (people += 1);
const sessionOf = (person: number) => `telegram:direct:${person}`;
const never = new AbortController().signal;

async function push(update: object): Promise<void> {
  const headers = { 'x-telegram-bot-api-secret-token': SECRET };
  await api.app.inject({ method: 'POST', url: WEBHOOK, payload: update, headers });
}

/** A person writes, and a worker begins the turn. */
async function ask(from: number, text: string): Promise<{ turn: Promise<unknown> }> {
  await push(updateOf(telegram.say({ from, text })));
  return { turn: api.work(sessionOf(from)) };
}

const calls = (person: number, method: string) =>
  telegram.calls.entries.filter((call) => call.method === method && call.chat === String(person));
const shownTo = (person: number) => telegram.messages(person).filter((message) => message.from?.is_bot === true);
const textsTo = (person: number) => shownTo(person).map(({ text }) => text);
const within = { timeout: TIMEOUT_MS };

/** A person presses the button of a message of the bot; resolves with the id of the press. */
async function press(from: number, chat: number, button: string): Promise<string> {
  const messageId = shownTo(chat).at(-1)!.message_id;
  const pressId = telegram.press({ from, messageId, button, ...(chat === from ? {} : { chat }) } as never);
  await push(
    telegram.pendingUpdates().find(({ callback_query: query }) => (query as { id?: string })?.id === pressId)!,
  );
  return pressId;
}

/** Sends what is in the outbox of a session. */
async function relay(session: string, database: Database = api.turns.database): Promise<void> {
  const owner: OutboxRelay = {
    database,
    config: api.config,
    owner: 'relay',
    publish: (result) => result,
    random: () => 0,
    redact: (text) => text,
    logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
    onSettled: () => undefined,
  };
  const sessionId: SessionId = await api.turns.sessionOf(session);
  do await changeChannelGates(api, {}, { nextAt: ago('1 minute') });
  while ((await relayChats(owner, sessionId, { signal: never, draining: never })) > 0);
}

describe.concurrent(
  'while an answer is written',
  () => {
    test('its chat shows typing, then one message, which becomes the answer', async ({ expect }) => {
      const person = newPerson();
      const { turn } = await ask(person, SLOW);
      await expect.poll(() => calls(person, 'sendChatAction').length, within).toBeGreaterThan(0);
      await expect.poll(() => textsTo(person), within).toHaveLength(1);
      expect(calls(person, 'sendMessage')[0]?.parameters).toMatchObject({ text: '…' });
      expect(shownTo(person)[0]?.reply_markup).toMatchObject({ inline_keyboard: [[{ callback_data: '/stop' }]] });
      await turn;
      await relay(sessionOf(person));
      expect(textsTo(person)).toEqual([WORDS]);
      expect(shownTo(person)[0]?.reply_markup).toBeUndefined();
      expect(calls(person, 'sendMessage')).toHaveLength(1);
      const { items } = (await api.get(`/v1/deliveries?session=${sessionOf(person)}`)).body;
      expect(items).toMatchObject([
        { status: 'sent', platformId: expect.stringContaining(String(shownTo(person)[0]?.message_id)) },
      ]);
    });

    test('a text whose markdown takes too long to read is not shown before it is sent as a file', async ({
      expect,
    }) => {
      const person = newPerson();
      const { turn } = await ask(person, `[[slow: 250]] [[reply: ${'> '.repeat(50)}${WORDS}]]`);
      await turn;
      expect(calls(person, 'sendMessage')).toEqual([]);
      await relay(sessionOf(person));
      expect(calls(person, 'sendDocument')).toHaveLength(1);
    });

    test('a turn that stays silent leaves no message', async ({ expect }) => {
      const person = newPerson();
      const { turn } = await ask(person, `[[slow: 250]] [[reply: ${WORDS}]] [[tool: unknown]] [[reply: NO_REPLY]]`);
      await expect.poll(() => textsTo(person), within).toHaveLength(1);
      await turn;
      await expect.poll(() => textsTo(person), within).toEqual([]);
      expect(calls(person, 'deleteMessage')).toHaveLength(1);
    });

    test.runIf(isLongForm())(
      'the next worker continues in the same message, and a relay that is killed at any round trip leaves one message',
      async ({ expect }) => {
        const person = newPerson();
        await push(updateOf(telegram.say({ from: person, text: SLOW })));
        const first = api.turns.worker();
        const left = first.run(sessionOf(person));
        await expect.poll(() => textsTo(person)[0], within).toMatch(/^word 0/);
        first.context.store.locks.stopAll({ kind: 'shutdown', message: 'The worker is ending.' });
        await left;
        await api.work(sessionOf(person));
        for (let trip = 1; ; trip += 1) {
          const killed = killedAt(api.turns.database, trip, trip % 2 === 0 ? 'before' : 'after');
          await relay(sessionOf(person), killed.database).catch(() => undefined);
          if (!killed.isKilled()) break;
          await changeDeliveries(api, { status: 'sending' }, { leaseExpiresAt: now });
        }
        expect(textsTo(person)).toEqual([WORDS]);
        expect(calls(person, 'sendMessage')).toHaveLength(1);
      },
    );

    test('the message has the text so far; its button stops the turn for an owner, and does nothing for another person', async ({
      expect,
    }) => {
      const owner = newPerson();
      await push(
        updateOf(telegram.say({ from: owner, chat: { id: GROUP, title: 'Team' }, text: `@scripted_bot ${ENDLESS}` })),
      );
      const turn = api.work(`telegram:group:${GROUP}`);
      await expect.poll(() => textsTo(GROUP)[0], within).toMatch(/^word 0 word 1/);
      const early = textsTo(GROUP)[0]!;
      await expect.poll(() => textsTo(GROUP)[0]!.length, within).toBeGreaterThan(early.length);
      const foreign = await press(STRANGER, GROUP, 'Stop');
      await expect.poll(() => telegram.answerOf(foreign), within).toBe('You may not do this.');
      const own = await press(owner, GROUP, 'Stop');
      await expect.poll(() => telegram.answerOf(own), within).toBe('');
      await turn;
      const [ended] = await readTurns(api, { sessionKey: `agent:main:telegram:group:${GROUP}` }, 'status');
      expect(ended).toEqual({ status: 'aborted' });
      await expect.poll(() => textsTo(GROUP), within).toEqual([]);
      const { items } = (await api.get(`/v1/messages?session=telegram:group:${GROUP}`)).body;
      expect(items).toHaveLength(2);
    });

    test.runIf(isLongForm())('a message that the platform has lost is sent again as the answer', async ({ expect }) => {
      const person = newPerson();
      const { turn } = await ask(person, SLOW);
      await expect.poll(() => textsTo(person), within).toHaveLength(1);
      await turn;
      const chat = await openChat(api.config, `channel:telegram/main/${person}`);
      const [preview] = await readChannelPreviews(api, { url: `channel:telegram/main/${person}` }, 'platformId');
      await chat.platform.remove!(chat.to, preview!.platformId!, never);
      await relay(sessionOf(person));
      expect(textsTo(person)).toEqual([WORDS]);
    });

    test('what a crash has left of a silent turn is removed', async ({ expect }) => {
      const person = newPerson();
      const { turn } = await ask(person, '[[reply: NO_REPLY]]');
      await turn;
      const url = `channel:telegram/main/${person}`;
      const chat = await openChat(api.config, url);
      const { platformId } = await chat.platform.send(chat.to, { markdown: '…', deliveryId: 'x' }, never);
      const [ended] = await readTurns(api, { sessionKey: `agent:main:${sessionOf(person)}` }, 'id');
      await addChannelPreviews(api, { turnId: ended!.id, url, platformId });
      await removeLeftOver({ config: api.config, database: api.turns.database }, null);
      // The end of another turn may have found it first.
      await expect.poll(() => textsTo(person), within).toEqual([]);
    });
  },
  TIMEOUT_MS,
);

test('a tool call that waits for an approval is decided by a button, by an approver and once', async ({ expect }) => {
  const owner = newPerson();
  const session = `telegram:group:${GROUP - 1}`;
  const chat = { id: GROUP - 1, title: 'Team' };
  const text = '@scripted_bot [[tool: echo {"a": "``` \\u202e"}]] [[reply: done]]';
  await push(updateOf(telegram.say({ from: owner, chat, text })));
  await api.work(session);
  const { service } = api.context;
  await runApprovalRound(service);
  await runApprovalRound(service);
  await relay(session);
  const [asked, ...more] = shownTo(chat.id);
  expect(more).toEqual([]);
  expect(asked?.text).toContain('<U+202E>');
  const [request] = (await api.get('/v1/approvals?status=open')).body.items;
  expect(asked?.reply_markup).toEqual({
    inline_keyboard: [
      [
        { text: 'Approve', callback_data: `/approve ${request.id}` },
        { text: 'Deny', callback_data: `/deny ${request.id}` },
      ],
    ],
  });
  const state = async () => (await api.get(`/v1/approvals/${request.id}`)).body;
  const foreign = await press(STRANGER, chat.id, 'Approve');
  await expect.poll(() => telegram.answerOf(foreign), within).toBe('You may not do this.');
  expect(await state()).toMatchObject({ status: 'open' });
  await press(owner, chat.id, 'Approve');
  expect(await state()).toMatchObject({ status: 'approved', decidedBy: `telegram:${owner}` });
  await press(owner, chat.id, 'Deny');
  expect(await state()).toMatchObject({ status: 'approved' });
  await api.work(session);
  await relay(session);
  const texts = textsTo(chat.id);
  expect(texts.filter((one) => one === 'done')).toHaveLength(1);
});
