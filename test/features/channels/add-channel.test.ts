// `holdfast channels add`: it asks for secrets, checks them at the platform, and adds the account
// to the configuration file.
import { readFileSync, writeFileSync, statSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import JSON5 from 'json5';
import { expect, onTestFinished, test } from 'vitest';
import { SLACK_APP, startScriptedSlack } from '../../../scripted-platform/slack/scripted-slack.ts';
import { makeFolder } from '../../cli/make-folder.ts';
import { runCli } from '../../cli/run-cli.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { startSlackServer, type SlackServer } from './slack-server.ts';

const holder = {} as { slack: SlackServer };
shareAmongTests(async (onEnd) => {
  holder.slack = await startSlackServer();
  onEnd(() => holder.slack.close());
});

const SECRETS = 'xoxb-1234567890\nxapp-1234567890\n';
const addAt = (cwd: string, stdin: string, ...more: string[]) =>
  runCli(['channels', 'add', 'slack', ...more], { cwd, stdin, env: { HOLDFAST_DATA_DIR: join(cwd, 'data') } });
const add = (cwd: string, stdin: string) => addAt(cwd, stdin, '--base-url', holder.slack.baseUrl);

test('a bot is checked and added to the file, which keeps its comments; the secrets are printed nowhere', async () => {
  const folder = await makeFolder('holdfast-add-');
  const file = join(folder, 'holdfast.json');
  writeFileSync(file, '{\n  // the only agent\n  agents: { list: [{ id: "main" }] },\n}\n', { mode: 0o640 });
  const added = await add(folder, SECRETS);
  expect(added).toMatchObject({ code: 0, stdout: `Added channels.slack.accounts.main to ${file}\n` });
  expect(added.stderr).toContain('https://api.slack.com/apps');
  expect(added.stderr).toContain('The platform knows the bot as holdfast (UBOT).');
  expect(added.stdout + added.stderr).not.toMatch(/x(?:oxb|app)-123/);
  const text = readFileSync(file, 'utf8');
  expect(text).toContain('// the only agent');
  const account = { baseUrl: holder.slack.baseUrl, token: 'xoxb-1234567890', appToken: 'xapp-1234567890' };
  expect(JSON5.parse(text)).toEqual({
    agents: { list: [{ id: 'main' }] },
    channels: { slack: { adapter: 'slack', mode: 'socket', accounts: { main: account } } },
  });
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(await add(folder, SECRETS)).toMatchObject({
    stderr: expect.stringContaining('give another name with --account'),
  });
});

test('an address other than that of Slack may have tokens in another form', async () => {
  const folder = await makeFolder('holdfast-add-');
  const slack = await startScriptedSlack();
  onTestFinished(() => slack.close());
  const { botToken, appToken } = SLACK_APP;
  expect(await addAt(folder, `${botToken}\n${appToken}\n`, '--base-url', slack.url)).toMatchObject({ code: 0 });
});

test('nothing is written when the platform does not accept the token, or the text is no token', async () => {
  const folder = await makeFolder('holdfast-add-');
  const isNone = { code: 2, stderr: expect.stringContaining('this is not the bot user OAuth token') };
  expect(await addAt(folder, 'hello\n')).toMatchObject(isNone);
  expect(await add(folder, '\n')).toMatchObject(isNone);
  const { 'auth.test': usual } = holder.slack.methods;
  holder.slack.methods['auth.test'] = () => ({ ok: false, error: 'invalid_auth' });
  const refused = await add(folder, SECRETS);
  holder.slack.methods['auth.test'] = usual!;
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('invalid_auth') });
  expect(existsSync(join(folder, 'holdfast.json'))).toBe(false);
});
