// The bytes of a request: what later requests have, too, is written once, and they are the same
// bytes as if all had been written for each.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { ContentBlock } from '../../src/core/content.ts';
import type { ModelMessage, ModelRequest } from '../../src/core/model-request.ts';
import { toWireRequest } from '../../src/model/transport.ts';
import { writeBody } from '../../src/model/anthropic.ts';
import { assistant, request, user } from './build-request.ts';
import { IMAGE } from './random-histories.ts';

/** How often each object was written as JSON, by its name. */
function createCounts() {
  const counts: Record<string, number> = {};
  const count = <Value extends object>(name: string, value: Value): Value => {
    counts[name] = 0;
    const toJSON = () => {
      counts[name]! += 1;
      return { ...value };
    };
    // A copy of the object does not have it: copies are made for one request.
    return Object.defineProperty(value, 'toJSON', { value: toJSON, enumerable: false });
  };
  return { counts, count };
}

function textOf(asked: ModelRequest): string {
  return Buffer.from(writeBody(asked, { isStreaming: true })).toString();
}

/** The text of a body, which is the JSON of what is sent. */
function expectSameText(asked: ModelRequest): void {
  expect(textOf(asked)).toBe(JSON.stringify(toWireRequest(asked)));
}

test('a request writes what the requests before it have not had: not the tools, the system prompt and the messages again', () => {
  const { counts, count } = createCounts();
  const { system, tools } = request([]);
  count('system', system[0]!);
  count('tool', tools[0]!);
  const messages = [
    count('first', user('One.')),
    count('second', assistant('1')),
    count('third', user('Two, größer als µ.')),
    count('fourth', assistant('2')),
    user('Three.'),
  ];
  textOf(request(messages, { system, tools }));
  const longer = [...messages, assistant('3'), user('Four.')];
  textOf(request(longer, { system, tools }));
  const longest = [...longer, assistant('4'), user('Five.')];
  const text = textOf(request(longest, { system, tools }));

  // The third was marked in the first request, and the fourth came after it.
  expect(counts).toEqual({ system: 1, tool: 1, first: 1, second: 1, third: 1, fourth: 2 });
  expect(text).toBe(JSON.stringify(toWireRequest(request(longest, { system, tools }))));
});

test('a message with an image is written for each request, and so is what follows it', () => {
  const { counts, count } = createCounts();
  const result = { type: 'tool_result', tool_use_id: 'one', content: [IMAGE] } satisfies ContentBlock;
  const messages = [
    count('before', user('Before.')),
    assistant('yes'),
    count('image', user(IMAGE)),
    count('after', assistant('A picture.')),
    count('result', user(result)),
    assistant('yes'),
    user('More.'),
    assistant('yes'),
    user('End.'),
  ];
  for (let calls = 0; calls < 3; calls += 1) textOf(request(messages));

  expect(counts).toEqual({ before: 1, image: 3, after: 3, result: 3 });
  expectSameText(request(messages));
});

test('a conversation that has changed in the middle is written as it is now', () => {
  const messages = ['One.', 'Two.', 'Three.', 'Four.'].flatMap((text) => [user(text), assistant(text)]);
  for (const now of [
    messages,
    messages.with(2, user('[pruned]')),
    messages.slice(0, 4),
    messages,
    [...messages, user('Five.'), assistant('5')],
    messages.with(0, user('Another beginning.')),
  ]) {
    expectSameText(request([...now, user('End.')]));
  }
});

test.each([
  ['without messages', request([])],
  ['with one message', request([user('Hello')])],
  ['without a cache breakpoint', request([user('Hello'), assistant('Hi'), user('End.')], { isOneOff: true })],
])('a request %s is written completely', (_, asked) => {
  expectSameText(asked);
  expectSameText(asked);
});

test('no more than 64 MB are kept: then a conversation is written again', () => {
  const { counts, count } = createCounts();
  const conversation = (first: ModelMessage) =>
    request([first, assistant('yes'), user('More.'), assistant('yes'), user('End.')]);
  const askLong = () => writeBody(conversation(user('x'.repeat(4_000_000))), { isStreaming: true });
  const asked = conversation(count('first', user('Hello')));
  textOf(asked);
  for (let others = 0; others < 14; others += 1) askLong();
  textOf(asked);
  expect(counts).toEqual({ first: 1 });

  for (let others = 0; others < 3; others += 1) askLong();
  textOf(asked);
  expect(counts).toEqual({ first: 2 });
});

test('nothing is kept of a conversation that is gone', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const askAndForget = (): WeakRef<ModelMessage> => {
    const first = user('A secret.');
    textOf(request([first, assistant('yes'), user('More.'), assistant('yes'), user('End.')]));
    return new WeakRef(first);
  };
  const gone = askAndForget();
  // A weak reference holds its object to the end of the job.
  await new Promise(setImmediate);
  collect();
  expect(gone.deref()).toBeUndefined();
});
