// `holdfast scripted-model` and `scripted-platform`: the servers of demo and tests as separate
// processes, for developers who test against them.
import { once } from 'node:events';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { explainStartFault } from '../explain-start-fault.ts';
import type { Terminal } from '../terminal.ts';

interface Address {
  port: number;
  host: string;
}

/** What the address of each API ends in, as its clients take it, and how they are given it. */
const APIS = {
  messages: { path: '', hint: 'set ANTHROPIC_BASE_URL to this URL and ANTHROPIC_API_KEY to any value' },
  responses: { path: '/v1', hint: 'set OPENAI_BASE_URL to this URL and OPENAI_API_KEY to any value' },
  chat: { path: '/v1', hint: 'set OPENAI_BASE_URL to this URL and OPENAI_API_KEY to any value' },
  gemini: { path: '/v1beta', hint: 'give a client this URL as its base address and any key' },
};

interface ModelOptions extends Address {
  api: keyof typeof APIS;
  batchDelayMs: number;
  /** 0 to 1. */
  batchCacheHits: number | undefined;
  obedient: boolean | undefined;
}

export async function runScriptedModel(
  { api, batchCacheHits, obedient: isObedient = false, ...rest }: ModelOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const { startScriptedModel } = await import('../../../scripted-model/scripted-model.ts');
  const options = { ...rest, isObedient, ...(batchCacheHits === undefined ? {} : { batchCacheHits }) };
  return serve(startScriptedModel(options), terminal, APIS[api].hint, APIS[api].path);
}

export async function runTelegram(
  { token, privacy: isPrivate = false, ...address }: Address & { token: string; privacy: boolean | undefined },
  terminal: Terminal,
): Promise<ExitCode> {
  const { startScriptedTelegram } = await import('../../../scripted-platform/telegram/scripted-telegram.ts');
  const options = { ...address, tokens: [token], readsAllGroupMessages: !isPrivate };
  return serve(startScriptedTelegram(options), terminal, `use this URL as the API's address, and the token ${token}`);
}

export async function runSlack(address: Address, terminal: Terminal): Promise<ExitCode> {
  const { SLACK_APP, startScriptedSlack } = await import('../../../scripted-platform/slack/scripted-slack.ts');
  const { botToken, appToken, signingSecret } = SLACK_APP;
  const hint = `the API is below /api/; the tokens are ${botToken} and ${appToken}, the signing secret is ${signingSecret}`;
  return serve(startScriptedSlack(address), terminal, hint);
}

export async function runSignal({ number, ...address }: Address & { number: string }, terminal: Terminal) {
  const { startScriptedSignal } = await import('../../../scripted-platform/signal/scripted-signal.ts');
  const hint = `use this URL as that of the daemon, and the number ${number} as the token`;
  return serve(startScriptedSignal({ ...address, number }), terminal, hint);
}

export async function runDiscord(address: Address, terminal: Terminal): Promise<ExitCode> {
  const { DISCORD_BOT, startScriptedDiscord } = await import('../../../scripted-platform/discord/scripted-discord.ts');
  return serve(
    startScriptedDiscord(address),
    terminal,
    `the API is below /api/v10/; the token is ${DISCORD_BOT.token}`,
  );
}

/** Serves until SIGINT, SIGTERM or SIGHUP; `path` is printed after the address. */
async function serve(
  starting: Promise<{ url: string; close: () => Promise<void> }>,
  terminal: Terminal,
  hint: string,
  path = '',
): Promise<ExitCode> {
  const server = await starting.catch((error: unknown) => {
    throw explainStartFault(error);
  });
  const stopped = Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)));
  const url = server.url + path;
  if (terminal.isJson) terminal.jsonLine({ url });
  else terminal.print(url);
  terminal.note(`${hint}; Ctrl-C stops the server`);
  await stopped;
  await server.close();
  return EXIT.ok;
}
