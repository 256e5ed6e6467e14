// `holdfast pause`, `resume` and `pauses`.
import type { PauseView as PauseAnswer } from '../../contract/pauses.ts';
import { connectApi, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import type { PauseOptions } from '../pause-commands.ts';
import { printTable } from '../print.ts';
import type { Terminal } from '../terminal.ts';

/** Pauses. */
export async function runPause(options: PauseOptions, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).pause({ body: options });
  if (terminal.isJson) terminal.json(body);
  else terminal.print(`${scopeText(body)} is paused`);
  return EXIT.ok;
}

/** Resumes, and prints what is still paused. */
export async function runResume(options: PauseOptions, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).resume({ body: options });
  if (terminal.isJson) {
    terminal.json(body);
    return EXIT.ok;
  }
  for (const ended of body.ended) terminal.print(`${scopeText(ended)} is resumed`);
  if (body.ended.length === 0) terminal.print('there was no such pause');
  for (const left of body.remaining) terminal.note(`still paused: ${scopeText(left)}`);
  return EXIT.ok;
}

/** Lists the pauses. */
export async function runPauses(flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).listPauses();
  printTable<PauseAnswer>(
    body,
    [
      { title: 'PAUSED', value: scopeText },
      { title: 'SINCE', value: (row) => terminal.time(row.since) },
      { title: 'BY', value: (row) => row.pausedBy },
      { title: 'REASON', value: (row) => row.reason ?? '', dropOrder: 1, isProse: true },
    ],
    terminal,
  );
  return EXIT.ok;
}

function scopeText({ lane, agent, session }: PauseAnswer): string {
  const named = Object.entries({ lane, agent, session }).filter(([, name]) => name !== null);
  return named.length === 0 ? 'everything' : named.map(([kind, name]) => `${kind} ${name}`).join(', ');
}
