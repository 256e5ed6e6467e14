// `holdfast scripted-platform`: the chat platforms of the tests as separate processes, for
// developers who test their bots against them.
import { once } from 'node:events';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { explainStartFault } from '../explain-start-fault.ts';
import type { Terminal } from '../terminal.ts';

interface Address {
  port: number;
  host: string;
}

/** All serve until SIGINT, SIGTERM or SIGHUP. */
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

async function serve(
  starting: Promise<{ url: string; close: () => Promise<void> }>,
  terminal: Terminal,
  hint: string,
): Promise<ExitCode> {
  const server = await starting.catch((error: unknown) => {
    throw explainStartFault(error);
  });
  const stopped = Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)));
  if (terminal.isJson) terminal.jsonLine({ url: server.url });
  else terminal.print(server.url);
  terminal.note(`${hint}; Ctrl-C stops the server`);
  await stopped;
  await server.close();
  return EXIT.ok;
}
