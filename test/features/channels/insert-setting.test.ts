import { expect, test } from 'vitest';
import JSON5 from 'json5';
import { insertSetting } from '../../../src/features/channels/add-channel.ts';

const BOT = { adapter: 'telegram', accounts: { main: { token: '1:a' } } };
const PATH = ['channels', 'telegram'];

test('a setting is added to a file, and every other line stays, with its comments', () => {
  const file = `// who answers
{
  agents: { list: [{ id: 'main' }] }, // one
  channels: {
    // where replies go
    webhook: { url: 'http://127.0.0.1/' },
  },
}
`;
  const written = insertSetting(file, PATH, BOT)!;
  expect(JSON5.parse(written)).toEqual({
    agents: { list: [{ id: 'main' }] },
    channels: { webhook: { url: 'http://127.0.0.1/' }, telegram: BOT },
  });
  for (const line of file.split('\n')) expect(written).toContain(line);
});

test.each([
  '{}',
  '{\n}\n',
  '{ a: 1 }',
  '{"a": 1}',
  '{\n  // nothing yet\n}',
  '{ channels: {} }',
  '{"channels": {"b": {}}}',
])('the file %j gets the setting, in its own form', (file) => {
  const written = insertSetting(file, PATH, BOT)!;
  const before = JSON5.parse<{ channels?: object }>(file);
  expect(JSON5.parse(written)).toEqual({ ...before, channels: { ...before.channels, telegram: BOT } });
  if (!/[a-z]:/.test(file) && !file.includes('//')) expect(() => JSON.parse(written)).not.toThrow();
});

test('nothing is written over a value that is there, or into one that is no object', () => {
  expect(insertSetting('{channels: {telegram: {}}}', PATH, BOT)).toBeNull();
  expect(insertSetting('{channels: []}', PATH, BOT)).toBeNull();
});
