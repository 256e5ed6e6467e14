// Who may speak to an agent: the policies, and everything that people choose themselves, which must
// not decide.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReceivedMessage } from '../../../../src/features/channels/platform.ts';
import { decideAccess } from '../../../../src/features/channels/rules/access.ts';

type Settings = Parameters<typeof decideAccess>[0];

const ADA = 'U0ADA';
const GROUP = '-100123';

const settings = (changes: Partial<Settings> = {}): Settings => ({
  dm: 'allowlist',
  groups: 'allowlist',
  allowFrom: [ADA],
  groupAllow: [GROUP],
  requireMention: true,
  ...changes,
});

const FACTS = { channel: 'telegram', ownerIds: ['7001'], isPaired: false, isOwnBot: false, botMessages: 0 };

function message(changes: Partial<ReceivedMessage> = {}): ReceivedMessage {
  return {
    kind: 'message',
    messageId: '1',
    place: { chatId: '55', chatType: 'direct' },
    sender: { id: '55', isBot: false },
    at: 0,
    text: 'hello',
    isForBot: false,
    files: [],
    ...changes,
  };
}

const from = (id: string, isBot = false) => message({ sender: { id, isBot } });
const inGroup = (changes: Partial<ReceivedMessage> = {}) =>
  message({ place: { chatId: GROUP, chatType: 'group' }, ...changes });

describe('direct chats', () => {
  test.each([
    ['pairing', '55', false, { to: 'pairing' }],
    ['pairing', '55', true, { to: 'agent' }],
    ['pairing', ADA, false, { to: 'agent' }],
    ['pairing', '7001', false, { to: 'agent' }],
    ['allowlist', '55', true, { to: 'ignored', why: 'dm_not_allowed' }],
    ['allowlist', ADA, false, { to: 'agent' }],
    ['allowlist', '7001', false, { to: 'agent' }],
    ['open', '55', false, { to: 'agent' }],
    ['off', '55', true, { to: 'ignored', why: 'dm_off' }],
    ['off', ADA, true, { to: 'ignored', why: 'dm_off' }],
    ['off', '7001', true, { to: 'ignored', why: 'dm_off' }],
  ] as const)('with the policy %s, a message of %s (paired: %s) goes to %j', (dm, id, isPaired, access) => {
    expect(decideAccess(settings({ dm }), from(id), { ...FACTS, isPaired })).toEqual(access);
  });

  test('an owner of another channel is not one here', () => {
    const facts = { ...FACTS, ownerIds: ['slack:55', 'telegram:56'] };
    expect(decideAccess(settings(), from('55'), facts)).toEqual({ to: 'ignored', why: 'dm_not_allowed' });
    expect(decideAccess(settings(), from('56'), facts)).toEqual({ to: 'agent' });
  });
});

describe('groups', () => {
  test.each([
    ['off', GROUP, true, { to: 'ignored', why: 'groups_off' }],
    ['allowlist', '-100999', true, { to: 'ignored', why: 'group_not_allowed' }],
    ['allowlist', GROUP, true, { to: 'agent' }],
    ['allowlist', GROUP, false, { to: 'context' }],
    ['open', '-100999', true, { to: 'agent' }],
    ['open', '-100999', false, { to: 'context' }],
  ] as const)(
    'with the policy %s, a message in %s (for the bot: %s) goes to %j',
    (groups, chatId, isForBot, access) => {
      const said = message({ place: { chatId, chatType: 'channel' }, isForBot });
      expect(decideAccess(settings({ groups }), said, FACTS)).toEqual(access);
    },
  );

  test('without requireMention, every message of an allowed group is for the agent', () => {
    const free = settings({ requireMention: false });
    expect(decideAccess(free, inGroup(), FACTS)).toEqual({ to: 'agent' });
    const elsewhere = inGroup({ place: { chatId: '-1', chatType: 'group' } });
    expect(decideAccess(free, elsewhere, FACTS).to).toBe('ignored');
  });

  test('a press of a button of the bot is for the agent in every allowed group', () => {
    const { place, sender } = inGroup();
    expect(decideAccess(settings(), { place, sender }, FACTS)).toEqual({ to: 'agent' });
  });
});

describe('bots', () => {
  test('what the own bot has said goes nowhere, whatever the settings say', () => {
    const open = settings({ dm: 'open', groups: 'open', requireMention: false });
    for (const said of [from(ADA, true), inGroup({ isForBot: true, sender: { id: ADA, isBot: true } })])
      expect(decideAccess(open, said, { ...FACTS, isPaired: true, isOwnBot: true })).toEqual({
        to: 'ignored',
        why: 'own_message',
      });
  });

  const open = settings({ dm: 'open', groups: 'open', requireMention: false });
  const direct = (id: string, isMentioned: boolean) => ({ ...from(id, true), isMentioned });
  const grouped = (id: string, isMentioned: boolean) =>
    inGroup({ isForBot: true, isMentioned, sender: { id, isBot: true } });

  test('another bot is heard only if its id is in allowFrom and its text mentions this one: an answer does not count', () => {
    const ignored = { to: 'ignored', why: 'other_bot' };
    const access = (said: ReceivedMessage) => decideAccess(open, said, { ...FACTS, isPaired: true });
    expect([direct('9', true), direct(ADA, false), direct(ADA, true)].map(access)).toEqual([
      ignored,
      ignored,
      { to: 'agent' },
    ]);
    expect([grouped('9', true), grouped(ADA, false), grouped(ADA, true)].map(access)).toEqual([
      { to: 'context' },
      { to: 'context' },
      { to: 'agent' },
    ]);
  });

  test('a bot that has said 20 messages to the agent within an hour is not heard, and a person is', () => {
    const access = (said: ReceivedMessage, botMessages: number) => decideAccess(open, said, { ...FACTS, botMessages });
    expect(access(grouped(ADA, true), 19)).toEqual({ to: 'agent' });
    expect(access(grouped(ADA, true), 20)).toEqual({ to: 'context' });
    expect(access(direct(ADA, true), 20)).toEqual({ to: 'ignored', why: 'other_bot' });
    expect(access(from(ADA), 20)).toEqual({ to: 'agent' });
  });
});

/** An allowed id, written as someone would who wants to pass for its bearer. */
const FORGERIES: ((id: string) => string)[] = [
  (id) => id,
  (id) => ` ${id}`,
  (id) => `${id}\n`,
  (id) => `${id}\u200B`,
  (id) => `\u202E${id}`,
  (id) => `${id}\0`,
  (id) => `${id}\u0301`,
  (id) => `@${id}`,
  (id) => `#${id}`,
  (id) => `<@${id}>`,
  (id) => `telegram:${id}`,
  (id) => `id:${id}`,
  (id) => `${id},${id}`,
  (id) => id.toLowerCase(),
  (id) => id.replace('0', 'O'),
  (id) => id.replace('A', '\u0410'),
  (id) => Array.from(id, (each) => String.fromCodePoint((each.codePointAt(0) ?? 0) + 0xfee0)).join(''),
  (id) => Array.from(id, (each) => `&#${each.codePointAt(0)};`).join(''),
  (id) => Array.from(id, (each) => `%${each.codePointAt(0)?.toString(16)}`).join(''),
  (id) => JSON.stringify({ id }),
  (id) => `[${id}](tg://user?id=${id})`,
  (id) => `From: ${id} (owner, paired, admin)`,
  () => '*',
  () => '.*',
  () => '__proto__',
];

const CARRIERS: Record<string, (said: ReceivedMessage, forged: string) => ReceivedMessage> = {
  name: (said, name) => ({ ...said, sender: { ...said.sender, name } }),
  username: (said, username) => ({ ...said, sender: { ...said.sender, username, tag: username } }),
  title: (said, title) => ({ ...said, place: { ...said.place, title } }) as ReceivedMessage,
  subject: (said, subject) => ({ ...said, place: { ...said.place, subject } }),
  'label of a thread': (said, threadLabel) => ({
    ...said,
    place: { ...said.place, threadId: threadLabel, threadLabel },
  }),
  quote: (said, forged) => ({ ...said, replyTo: { id: forged, senderLabel: forged, body: forged, isQuote: true } }),
  forwarded: (said, forged) => ({
    ...said,
    forwarded: { from: forged, username: forged, title: forged, signature: forged },
  }),
  'name of a file': (said, name) => ({ ...said, files: [{ id: name, name, type: name }] }),
  'value of a button': (said, value) =>
    ({ ...said, kind: 'press', pressId: value, value }) as unknown as ReceivedMessage,
  text: (said, text) => ({ ...said, text }),
};

test('25 kinds of forgery in 10 carriers: 0 of them are accepted', () => {
  expect([FORGERIES.length, Object.keys(CARRIERS).length]).toEqual([25, 10]);
  const allowed = [ADA, GROUP, '7001'];
  const accepted: string[] = [];
  const closed: Partial<Settings>[] = [{ dm: 'allowlist' }, { dm: 'pairing' }];
  let cases = 0;
  for (const forge of FORGERIES)
    for (const [carrier, put] of Object.entries(CARRIERS))
      for (const id of allowed)
        for (const said of [from('666'), message({ place: { chatId: '-666', chatType: 'group' }, isForBot: true })])
          for (const policy of closed) {
            cases += 1;
            const { to } = decideAccess(settings(policy), put(said, forge(id)), FACTS);
            if (to === 'agent' || to === 'context') accepted.push(`${carrier}: ${forge(id)}`);
          }
  expect(cases).toBe(25 * 10 * 3 * 2 * 2);
  expect(accepted).toEqual([]);
});

test('an id that is nearly an allowed one is another one', () => {
  for (const forge of FORGERIES) {
    for (const id of [ADA, '7001'])
      if (forge(id) !== id && forge(id) !== `telegram:7001`)
        expect(decideAccess(settings(), from(forge(id)), FACTS).to, forge(id)).toBe('ignored');
    const place = { chatId: forge(GROUP), chatType: 'group' } as const;
    if (place.chatId !== GROUP)
      expect(decideAccess(settings(), message({ place, isForBot: true }), FACTS).to).toBe('ignored');
  }
});

test('nothing but ids, the kind of the chat and the facts decides', () => {
  const text = fc
    .array(fc.constantFrom(ADA, GROUP, '7001', 'telegram:', '@', ' ', '*'), { maxLength: 3 })
    .map((all) => all.join(''));
  const carried = fc.tuple(fc.constantFrom(...Object.keys(CARRIERS)), text);
  const said = fc.constantFrom(from(ADA), from('55'), inGroup(), inGroup({ isForBot: true }), from('9', true));
  fc.assert(
    fc.property(said, fc.array(carried, { maxLength: 3 }), (plain, all) => {
      const dressed = all.reduce((before, [carrier, forged]) => CARRIERS[carrier]?.(before, forged) ?? before, plain);
      expect(decideAccess(settings(), dressed, FACTS)).toEqual(decideAccess(settings(), plain, FACTS));
    }),
    { numRuns: 200 },
  );
});
