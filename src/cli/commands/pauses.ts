// `holdfast pause`, `resume` and `pauses`.
import type { PauseView } from '../../contract/pauses.ts';
import { LANES } from '../../core/session-key.ts';
import { command, lists, prints, type Words } from '../command.ts';

const SCOPE = {
  lane: ['--lane <lane>', 'only this lane', LANES],
  agent: ['--agent <id>', 'only this agent'],
  session: ['--session <key>', 'only this session'],
  reason: ['--reason <text>', 'the reason, shown with the pause'],
} as const;

export const words: Words = {
  pause: command({
    takes: SCOPE,
    run: prints('pause', (pause) => `${scopeText(pause)} is paused`),
  }),
  resume: command({
    takes: SCOPE,
    run: prints('resume', ({ ended, remaining }, terminal) => {
      for (const pause of ended) terminal.print(`${scopeText(pause)} is resumed`);
      if (ended.length === 0) terminal.print('there was no such pause');
      for (const pause of remaining) terminal.note(`still paused: ${scopeText(pause)}`);
    }),
  }),
  pauses: command({
    run: lists('listPauses', (terminal) => [
      { title: 'PAUSED', value: scopeText },
      { title: 'SINCE', value: (row) => terminal.time(row.since) },
      { title: 'BY', value: (row) => row.pausedBy },
      { title: 'REASON', value: (row) => row.reason, dropOrder: 1, isProse: true },
    ]),
  }),
};

function scopeText({ lane, agent, session }: PauseView): string {
  const named = Object.entries({ lane, agent, session }).filter(([, name]) => name !== null);
  return named.length === 0 ? 'everything' : named.map(([kind, name]) => `${kind} ${name}`).join(', ');
}
