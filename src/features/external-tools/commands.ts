// `holdfast tool-calls`: the calls of external tools that wait for a program.
import { command, lists, type Words } from '../../cli/command.ts';
import { pages } from '../../cli/options.ts';

export const words: Words = {
  'tool-calls': {
    list: command({
      summary: 'list calls of external tools that wait for a result, oldest first',
      takes: { ...pages(), tool: ['--tool <name>', 'only calls of this tool'] },
      run: lists('listExternalCalls', (terminal) => [
        { title: 'CALL', value: (row) => row.id },
        { title: 'TOOL', value: (row) => row.tool },
        { title: 'SESSION', value: (row) => row.sessionKey, dropOrder: 2 },
        { title: 'REQUESTED', value: (row) => terminal.time(row.requestedAt), dropOrder: 3 },
        { title: 'EXPIRES', value: (row) => terminal.time(row.expiresAt) },
        { title: 'INPUT', value: (row) => JSON.stringify(row.input), dropOrder: 1, isProse: true },
      ]),
    }),
  },
};
