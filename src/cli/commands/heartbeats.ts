// `holdfast heartbeats`: the polls of agents, made and skipped, and a poll right now.
import type { HeartbeatView as HeartbeatAnswer } from '../../contract/crons.ts';
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import type { PageOptions } from '../options.ts';
import { printList } from '../print.ts';
import type { Style } from '../style.ts';
import type { Terminal } from '../terminal.ts';

const STATUS_STYLES: Record<string, Style> = { fired: 'green', claimed: 'cyan' };

/** Lists polls, newest first. */
export async function runHeartbeatsList(
  options: PageOptions & { agent?: string; status?: string },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).listHeartbeats(fromOptions(options));
  printList<HeartbeatAnswer>(
    body,
    [
      { title: 'DUE', value: (row) => terminal.time(row.scheduledFor) },
      { title: 'AGENT', value: (row) => row.agentId },
      { title: 'STATUS', value: (row) => row.status, style: (row) => STATUS_STYLES[row.status] },
      { title: 'RESULT', value: (row) => row.result ?? row.reason ?? '' },
      { title: 'TURN', value: (row) => row.turnId ?? '', dropOrder: 2 },
      { title: 'DETAIL', value: (row) => row.detail ?? '', dropOrder: 1, isProse: true },
    ],
    terminal,
  );
  return EXIT.ok;
}

/** Polls an agent now. */
export async function runHeartbeatsPoll(agent: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).pollAgent({ agent });
  if (terminal.isJson) terminal.json(body);
  else if (body.status === 'skipped') terminal.print(`${agent} is not polled: ${body.reason}`);
  else terminal.print(`${agent} is polled with message ${body.messageId}`);
  return EXIT.ok;
}
