// `holdfast models blocks` and `models unblock`.
import type { BlockView as ModelBlockAnswer } from '../../contract/model-blocks.ts';
import { connectApi, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { printTable } from '../print.ts';
import type { Terminal } from '../terminal.ts';

/** Lists the blocks. */
export async function runModelBlocks(flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  printTable<ModelBlockAnswer>(
    await connectApi(flags).listModelBlocks(),
    [
      { title: 'MODEL', value: (row) => row.model },
      { title: 'KIND', value: (row) => row.kind },
      { title: 'SINCE', value: (row) => terminal.time(row.since) },
      { title: 'UNTIL', value: (row) => terminal.time(row.until) },
      { title: 'ANSWER', value: (row) => row.text ?? '', dropOrder: 1, isProse: true },
    ],
    terminal,
  );
  return EXIT.ok;
}

/** Lifts blocks, and prints those that remain. */
export async function runUnblock(
  { model, reason }: { model: string | undefined; reason?: string },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).unblockModels({
    body: { ...(model === undefined ? {} : { model }), ...(reason === undefined ? {} : { reason }) },
  });
  if (terminal.isJson) {
    terminal.json(body);
    return EXIT.ok;
  }
  for (const lifted of body.lifted) terminal.print(`${lifted.model} is called again`);
  if (body.lifted.length === 0)
    terminal.print(`${model ?? 'no model'} ${model === undefined ? 'is' : 'is not'} blocked`);
  for (const left of body.remaining) terminal.note(`still blocked: ${left.model}`);
  return EXIT.ok;
}
