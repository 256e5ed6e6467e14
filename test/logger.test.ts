import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { createLogger } from '../src/logger.ts';

function logLines(secrets: string[] = []) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ level: 'info', format: 'json', name: 'test', secrets, destination });
  return { logger, lines };
}

test('every line names the roles and the process that wrote it', () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ level: 'info', format: 'json', name: 'test', role: 'api,worker', destination });
  logger.child({ turnId: 't1' }).info('done');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ role: 'api,worker', process: `${hostname()}:${process.pid}` });
});

test('a line is JSON with name, time and message', () => {
  const { logger, lines } = logLines();
  logger.child({ turnId: 't1' }).info({ n: 1 }, 'done');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 30, name: 'test', turnId: 't1', n: 1, msg: 'done' });
});

test('fields that hold secrets are redacted at any usual depth (G31)', () => {
  const { logger, lines } = logLines();
  logger.info({
    authorization: 'canary1',
    req: { headers: { 'x-api-key': 'canary2', cookie: 'canary3' } },
    password: 'canary4',
    db: { connectionString: 'canary5' },
  });
  expect(lines.join()).not.toContain('canary');
});

test('known secrets are redacted wherever they appear, also escaped and in stacks (G31)', () => {
  const { logger, lines } = logLines(['pa"ss\\word', 'päss wort 9']);
  logger.error(
    { err: new Error('cannot log in with pa"ss\\word') },
    'url was http://h/?k=p%C3%A4ss%20wort%209 and päss wort 9',
  );
  expect(lines.join()).not.toMatch(/pa\\"ss|p%C3%A4ss|päss/);
  expect(() => JSON.parse(lines[0] ?? '')).not.toThrow();
});

test.each([
  ['an Anthropic key', 'key sk-ant-api03-abcdefghijk refused', 'sk-ant-api03-abcdefghijk'],
  ['a webhook secret', 'whsec_MfKQ9r8GKYqrTwjUPD8I', 'MfKQ9r8'],
  ['a bearer header', 'sent Authorization: Bearer eyJhbGciOi.abc', 'eyJhbGciOi'],
  ['a password in a URL', 'connect postgres://me:hunter2@db/x', 'hunter2'],
  ['one of our keys', 'hf_abcdefghijklmnopqrstuvwxyz', 'hf_abc'],
  ['one of our tokens', 'hft_abcdefghijklmnopqrstuvwxyz', 'hft_abc'],
])('%s is redacted by its look (G31)', (_, text, secret) => {
  const { logger, lines } = logLines();
  logger.info(text);
  expect(lines.join()).not.toContain(secret);
});

test('short values are no secrets: a line would become unreadable', () => {
  const { logger, lines } = logLines(['a']);
  logger.info('a plain sentence');
  expect(lines.join()).toContain('a plain sentence');
});
