// `holdfast scripted-model`: the model server of demo and tests as a separate process, for
// developers who test against it.
import { once } from 'node:events';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { explainStartFault } from '../explain-start-fault.ts';
import type { Terminal } from '../terminal.ts';

/** What the address of each API ends in, as its clients take it, and how they are given it. */
const APIS = {
  messages: { path: '', hint: 'set ANTHROPIC_BASE_URL to this URL and ANTHROPIC_API_KEY to any value' },
  responses: { path: '/v1', hint: 'set OPENAI_BASE_URL to this URL and OPENAI_API_KEY to any value' },
  chat: { path: '/v1', hint: 'set OPENAI_BASE_URL to this URL and OPENAI_API_KEY to any value' },
  gemini: { path: '/v1beta', hint: 'give a client this URL as its base address and any key' },
};

interface Options {
  api: keyof typeof APIS;
  port: number;
  host: string;
  batchDelayMs: number;
  /** 0 to 1. */
  batchCacheHits: number | undefined;
  obedient: boolean | undefined;
}

/** Serves until SIGINT, SIGTERM or SIGHUP. */
export async function runScriptedModel(
  { api, batchCacheHits, obedient: isObedient = false, ...rest }: Options,
  terminal: Terminal,
): Promise<ExitCode> {
  const { startScriptedModel } = await import('../../../scripted-model/scripted-model.ts');
  const options = { ...rest, isObedient, ...(batchCacheHits === undefined ? {} : { batchCacheHits }) };
  const server = await startScriptedModel(options).catch((error: unknown) => {
    throw explainStartFault(error);
  });
  const stopped = Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)));
  const url = server.url + APIS[api].path;
  if (terminal.isJson) terminal.jsonLine({ url });
  else terminal.print(url);
  terminal.note(`${APIS[api].hint}; Ctrl-C stops the server`);
  await stopped;
  await server.close();
  return EXIT.ok;
}
