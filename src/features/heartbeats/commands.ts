// `holdfast heartbeats`: the polls of agents, made and skipped, and a poll right now.
import { command, lists, prints, type Words } from '../../cli/command.ts';
import { pages } from '../../cli/options.ts';
import type { Style } from '../../cli/table.ts';

const STATUS_STYLES: Record<string, Style> = { fired: 'green', claimed: 'cyan' };

export const words: Words = {
  heartbeats: {
    list: command({
      summary: 'list polls, newest first',
      takes: {
        ...pages(),
        agent: ['--agent <id>', 'only this agent'],
        status: ['--status <status>', 'only with this status', ['claimed', 'fired', 'skipped']],
      },
      run: lists('listHeartbeats', (terminal) => [
        { title: 'DUE', value: (row) => terminal.time(row.scheduledFor) },
        { title: 'AGENT', value: (row) => row.agentId },
        { title: 'STATUS', value: (row) => row.status, style: (row) => STATUS_STYLES[row.status] },
        { title: 'RESULT', value: (row) => row.result ?? row.reason ?? '' },
        { title: 'TURN', value: (row) => row.turnId, dropOrder: 2 },
        { title: 'DETAIL', value: (row) => row.detail, dropOrder: 1, isProse: true },
      ]),
    }),
    poll: command({
      summary: 'poll an agent now',
      takes: { agent: ['<agent>', 'its id'] },
      run: prints('pollAgent', ({ status, reason, messageId }, _terminal, { agent }) =>
        status === 'skipped' ? `${agent} is not polled: ${reason}` : `${agent} is polled with message ${messageId}`,
      ),
    }),
  },
};
