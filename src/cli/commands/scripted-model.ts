// `holdfast scripted-model`: the model server of demo and tests as a separate process, for developers who test against it.
import { once } from 'node:events';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { explainStartFault } from '../explain-start-fault.ts';
import type { Terminal } from '../terminal.ts';

interface Options {
  port: number;
  host: string;
  batchDelayMs: number;
  /** 0 to 1. */
  batchCacheHits: number | undefined;
}

/** Serves until SIGINT, SIGTERM or SIGHUP. */
export async function runScriptedModel({ batchCacheHits, ...rest }: Options, terminal: Terminal): Promise<ExitCode> {
  const { startScriptedModel } = await import('../../../scripted-model/scripted-model.ts');
  const options = { ...rest, ...(batchCacheHits === undefined ? {} : { batchCacheHits }) };
  const server = await startScriptedModel(options).catch((error: unknown) => {
    throw explainStartFault(error);
  });
  const stopped = Promise.race(['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)));
  if (terminal.isJson) terminal.jsonLine({ url: server.url });
  else terminal.print(server.url);
  terminal.note('set ANTHROPIC_BASE_URL to this URL and ANTHROPIC_API_KEY to any value; Ctrl-C stops the server');
  await stopped;
  await server.close();
  return EXIT.ok;
}
