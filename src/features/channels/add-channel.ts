// `holdfast channels add`: walks through the creation of a bot, checks its token at the platform,
// and adds it to the configuration file, whose other lines and comments stay as they are. In a
// pipe, the secrets are the lines of stdin.
import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import JSON5 from 'json5';
import { CliError, EXIT, explainConfigError, usageError, type ExitCode } from '../../cli/cli-error.ts';
import { loadOrRefuse } from '../../cli/commands/config.ts';
import { writeError } from '../../cli/file-error.ts';
import type { Terminal } from '../../cli/terminal.ts';
import { ConfigError, loadConfigFile, type Config } from '../../config.ts';
import { findPlaces } from '../../config/load-file.ts';
import { given, isObject } from '../../core/json.ts';
import { defaultMode, platformOf, type BotAccount } from './accounts.ts';
import { GUIDES, type Secret } from './setup-guides.ts';

const CHECK_MS = 15_000;
const DEFAULT_FILE = 'holdfast.json';

export interface AddedChannel {
  adapter: string;
  name?: string | undefined;
  account: string;
  mode?: BotAccount['mode'] | undefined;
  dm: BotAccount['settings']['dm'];
  tokenEnv?: string | undefined;
  baseUrl?: string | undefined;
}

export async function addChannel(input: AddedChannel, terminal: Terminal): Promise<ExitCode> {
  const { adapter, account, dm, tokenEnv, baseUrl } = input;
  const { config } = loadOrRefuse(EXIT.badConfiguration);
  const channel = input.name ?? adapter;
  const mode = input.mode ?? defaultMode(adapter);
  const { steps, secrets, next } = GUIDES[adapter]!(mode);
  for (const line of steps) terminal.note(line);
  const asked = secrets
    .filter(({ field }) => field !== 'token' || tokenEnv === undefined)
    // Elsewhere, such as on a scripted platform, tokens can have another form.
    .map((secret) => (baseUrl === undefined ? secret : { ...secret, form: /./ }));
  const answers = await askForSecrets(asked, terminal);
  const settings = { ...given({ tokenEnv, baseUrl }), ...answers, ...(dm === 'pairing' ? {} : { dm }) };
  const bot = await identify(config, { channel, account, adapter, mode, settings });
  terminal.note(`The platform knows the bot as ${bot.name} (${bot.id}).`);
  for (const problem of bot.problems) terminal.note(`To do: ${problem}`);
  const file = config.runtime.configPath ?? resolve(DEFAULT_FILE);
  writeAccount(file, { config, channel, account, adapter, mode, settings });
  const added = { file, channel, accountId: account, botId: bot.id, botName: bot.name, problems: bot.problems };
  if (terminal.isJson) terminal.json(added);
  else terminal.print(`Added channels.${channel}.accounts.${account} to ${file}`);
  for (const line of next({ channel, account, bot: bot.name })) terminal.note(line);
  return EXIT.ok;
}

type NewAccount = Pick<BotAccount, 'channel' | 'account' | 'adapter' | 'mode'> & { settings: Record<string, unknown> };

async function identify(config: Config, { settings, ...account }: NewAccount) {
  const signal = AbortSignal.timeout(CHECK_MS);
  try {
    // The settings of a new account have no defaults yet, and a platform uses none of those that
    // have one.
    const whole = { ...account, settings, ofChannel: {} } as unknown as BotAccount;
    const platform = await platformOf(config, whole);
    const { id, name } = await platform.identify(signal);
    return { id, name, problems: (await platform.check?.(signal)) ?? [] };
  } catch (error) {
    throw new CliError({
      code: 'channel_test_failed',
      exitCode: EXIT.failed,
      message: `the platform did not accept the bot: ${(error as Error).message}`,
      fix: 'copy the token again, then run the command again. Nothing was written',
    });
  }
}

/** At a terminal, each is asked for and not shown. */
async function askForSecrets(secrets: readonly Secret[], terminal: Terminal): Promise<Record<string, string>> {
  const isAsked = process.stdin.isTTY === true;
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output, terminal: isAsked });
  const answers: Record<string, string> = {};
  try {
    const read = lines[Symbol.asyncIterator]();
    for (const { field, label, form } of secrets) {
      if (isAsked) terminal.note(`${label} (it is not shown): `);
      const { value } = await read.next();
      const answer = String(value ?? '').trim();
      if (!form.test(answer))
        throw usageError(
          `this is not the ${label}`,
          `paste it as the platform shows it; in a pipe, each is a line of stdin`,
          'bad_secret',
        );
      answers[field] = answer;
    }
    return answers;
  } finally {
    lines.close();
  }
}

/** Writes the file beside the old one, checks it, and replaces the old one in one step. */
function writeAccount(
  file: string,
  { config, channel, account, adapter, mode, settings }: NewAccount & { config: Config },
): void {
  const known = config.channels.platforms[channel];
  if (known !== undefined && known.adapter !== adapter)
    throw usageError(
      `channels.${channel} is there already, with the adapter ${known.adapter ?? 'none'}`,
      'give another name with --name',
      'channel_exists',
    );
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '{}\n';
  const written =
    known === undefined
      ? insertSetting(text, ['channels', channel], { adapter, mode, accounts: { [account]: settings } })
      : insertSetting(text, ['channels', channel, 'accounts', account], settings);
  if (written === null)
    throw usageError(
      `channels.${channel}.accounts.${account} is in ${file} already`,
      'give another name with --account',
      'channel_exists',
    );
  const beside = join(dirname(file), `.${basename(file)}.${randomUUID()}`);
  try {
    writeFileSync(beside, written, { mode: 0o600, flag: 'wx' });
    if (existsSync(file)) chmodSync(beside, statSync(file).mode & 0o777);
    loadConfigFile(beside);
    renameSync(beside, file);
  } catch (error) {
    if (error instanceof ConfigError) throw explainConfigError(error, EXIT.badConfiguration);
    throw writeError(file, error) ?? error;
  } finally {
    rmSync(beside, { force: true });
  }
}

const INDENT = 2;

/**
 * The text of a configuration file with the value at the path, and all else as it is, with its
 * comments; null: there is a value already, or something on the way is no object. The text is valid
 * JSON5.
 */
export function insertSetting(text: string, path: readonly string[], value: unknown): string | null {
  const before: unknown = JSON5.parse(text);
  let at = before;
  let depth = 0;
  while (isObject(at) && Object.hasOwn(at, path[depth] ?? '')) {
    at = at[path[depth] ?? ''];
    depth += 1;
  }
  const place = findPlaces(text).get(path.slice(0, depth).join('.'));
  if (!isObject(at) || depth === path.length || place === undefined) return null;
  // After the brace.
  const start = place.offset + 1;
  const [key = '', ...inner] = path.slice(depth);
  const nested = inner.reduceRight<unknown>((child, name) => ({ [name]: child }), value);
  const margin = ' '.repeat(INDENT * (depth + 1));
  const written = isStrict(text)
    ? JSON.stringify({ [key]: nested }, null, INDENT)
    : JSON5.stringify({ [key]: nested }, null, INDENT);
  const lines = written.split('\n').slice(1, -1);
  const field = lines
    .map((line) => `\n${margin}${line.slice(INDENT)}`)
    .join('')
    .replace(/,?$/, Object.keys(at).length === 0 ? '' : ',');
  const rest = text.slice(start);
  const hasOwnLine = /^[^\S\n]*\n/.test(rest);
  return text.slice(0, start) + field + (hasOwnLine ? '' : `\n${' '.repeat(INDENT * depth)}`) + rest;
}

/** True for JSON without the freedoms of JSON5. */
function isStrict(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
