// `holdfast models`: models that no worker calls, and how to call one again.
import { command, lists, prints, type Words } from '../command.ts';

export const words: Words = {
  models: {
    blocks: command({
      summary: 'list them, with the time at which their calls resume',
      run: lists('listModelBlocks', (terminal) => [
        { title: 'MODEL', value: (row) => row.model },
        { title: 'KIND', value: (row) => row.kind },
        { title: 'SINCE', value: (row) => terminal.time(row.since) },
        { title: 'UNTIL', value: (row) => terminal.time(row.until) },
        { title: 'ANSWER', value: (row) => row.text, dropOrder: 1, isProse: true },
      ]),
    }),
    unblock: command({
      summary: 'call a model again before that time, or all of them; the turns that wait for it resume',
      takes: {
        model: ['[model]', 'provider/model'],
        reason: ['--reason <text>', 'the reason, stored in the audit log'],
      },
      run: prints('unblockModels', ({ lifted, remaining }, terminal, { model }) => {
        for (const one of lifted) terminal.print(`${one.model} is called again`);
        if (lifted.length === 0)
          terminal.print(model === undefined ? 'no model is blocked' : `${model} is not blocked`);
        for (const one of remaining) terminal.note(`still blocked: ${one.model}`);
      }),
    }),
  },
};
