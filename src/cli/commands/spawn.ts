// `holdfast spawn`: a task for a subagent of a session, and with --wait its result. `holdfast subagents`: those that there are, a word to
// one of them, its end.
import type { SubagentView as SubagentAnswer } from '../../contract/subagents.ts';
import { connectApi, fromOptions, type ApiClient, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import type { PageOptions } from '../options.ts';
import { pollUntilEnd } from '../poll-until-end.ts';
import { printList } from '../print.ts';
import type { Style } from '../style.ts';
import { readArgument } from '../read-argument.ts';
import type { Terminal } from '../terminal.ts';

export interface SpawnInput {
  session: string;
  /** `-`: from stdin. */
  task: string;
  /** Absent: do not wait. */
  waitSeconds?: number;
  idempotencyKey?: string;
  label?: string;
  agent?: string;
  model?: string;
  thinking?: string;
  timeout?: number;
  cleanup?: string;
  mode?: string;
  deliver?: string;
  tag?: Record<string, string>;
}

const LOOK_EVERY_MS = 500;
const STATUS_STYLES: Record<string, Style> = {
  running: 'cyan',
  ok: 'green',
  failed: 'red',
  timedOut: 'red',
  killed: 'yellow',
};

/** Spawns; prints the run's id, or with a wait its result. */
export async function runSpawn(input: SpawnInput, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const api = connectApi(flags);
  const body = await api.storeSpawn(
    { key: input.session, body: fromOptions(await bodyOf(input)) },
    { idempotencyKey: input.idempotencyKey },
  );
  if (input.waitSeconds !== undefined) return waitForRun(api, body.runId, input.waitSeconds, terminal);
  if (terminal.isJson) terminal.json(body);
  else terminal.print(body.runId);
  terminal.note(`works in ${body.childSessionKey}; its result is announced to ${input.session}`);
  return EXIT.ok;
}

async function bodyOf(input: SpawnInput): Promise<Record<string, unknown>> {
  const { label, agent, model, thinking, timeout, cleanup, mode, tag } = input;
  const deliver = input.deliver === undefined ? undefined : { url: input.deliver };
  const task = await readArgument(input.task);
  return {
    task,
    label,
    agentId: agent,
    model,
    thinking,
    runTimeoutSeconds: timeout,
    cleanup,
    mode,
    deliver,
    tags: tag,
  };
}

/** Polls until the run has ended. Interrupting the command stops nothing. */
async function waitForRun(api: ApiClient, runId: string, waitSeconds: number, terminal: Terminal): Promise<ExitCode> {
  const exit = await pollUntilEnd(
    { read: () => api.getSubagent({ runId }), everyMs: LOOK_EVERY_MS, waitSeconds },
    (run) => (run.status === 'running' ? null : reportEnd(run, terminal)),
  );
  if (exit === EXIT.waitEnded) {
    if (terminal.isJson) terminal.json(await api.getSubagent({ runId }));
    terminal.note(`run ${runId} has not ended within ${waitSeconds} s; it continues`);
  }
  return exit;
}

function reportEnd(run: SubagentAnswer, terminal: Terminal): ExitCode {
  if (terminal.isJson) terminal.json(run);
  else if (run.result !== null) terminal.print(run.result);
  if (run.status === 'ok') return EXIT.ok;
  terminal.note(
    `the subagent ${run.status === 'timedOut' ? 'timed out' : run.status}: ${run.error ?? 'no reason given'}`,
  );
  return run.status === 'failed' ? EXIT.turnFailed : EXIT.turnAborted;
}

/** Lists the subagents that a session has spawned. */
export async function runSubagentsList(
  session: string,
  options: PageOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).listSubagents({ key: session, ...options });
  printList<SubagentAnswer>(
    body,
    [
      { title: 'RUN', value: (row) => row.runId },
      { title: 'STATUS', value: (row) => row.status, style: (row) => STATUS_STYLES[row.status] },
      { title: 'LABEL', value: (row) => row.label ?? row.task, dropOrder: 3, isProse: true },
      { title: 'ANNOUNCED', value: (row) => row.announcement?.status ?? '', dropOrder: 2 },
      { title: 'TOKENS', value: (row) => String(row.tokens.input + row.tokens.output), align: 'right', dropOrder: 4 },
      { title: 'CREATED', value: (row) => terminal.time(row.createdAt), dropOrder: 5 },
      { title: 'ERROR', value: (row) => row.error ?? '', dropOrder: 1, isProse: true },
    ],
    terminal,
  );
  return EXIT.ok;
}

/** Stops a run and, unless they are kept, all runs below it. */
export async function runSubagentsKill(
  runId: string,
  options: { keepBelow?: boolean },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).killSubagent({
    runId,
    body: options.keepBelow === true ? { below: 'keep' } : {},
  });
  if (terminal.isJson) terminal.json(body);
  else terminal.print(body.killed === 0 ? 'the run had already ended' : `${body.killed} stopped`);
  return EXIT.ok;
}

/** Says something to a run. */
export async function runSubagentsSteer(
  runId: string,
  text: string,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const said = await readArgument(text);
  const body = await connectApi(flags).steerSubagent({ runId, body: { text: said } });
  if (terminal.isJson) terminal.json(body);
  else terminal.print(body.how === 'again' ? `it starts again: ${body.runId}` : body.how);
  return EXIT.ok;
}
