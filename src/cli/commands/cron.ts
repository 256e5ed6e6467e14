// `holdfast cron`: creates, changes and lists crons, and shows their past slots.
import type { CronView as CronAnswer, FireView as CronFireAnswer } from '../../contract/crons.ts';
import { parseDuration } from '../../config/durations.ts';
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import { cronIdOf } from '../cron-id.ts';
import type { CronOptions } from '../cron-commands.ts';
import type { PageOptions } from '../options.ts';
import { isSure } from '../is-sure.ts';
import { printList } from '../print.ts';
import type { Style } from '../style.ts';
import type { Terminal } from '../terminal.ts';
import { timeFromNow } from '../time-option.ts';

const FIRE_STYLES: Record<string, Style> = { completed: 'green', failed: 'red', missed: 'yellow', skipped: 'yellow' };

/** Lists crons, newest first. */
export async function runCronList(
  options: PageOptions & { agent?: string },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).listCrons(options);
  printList<CronAnswer>(
    body,
    [
      { title: 'CRON', value: (row) => row.id },
      { title: 'NAME', value: (row) => row.name },
      { title: 'WHEN', value: (row) => scheduleText(row.schedule), dropOrder: 1 },
      { title: 'NEXT', value: (row) => nextText(row, terminal), style: (row) => (row.enabled ? undefined : 'yellow') },
      { title: 'TARGET', value: (row) => row.target, dropOrder: 3 },
      { title: 'AGENT', value: (row) => row.agentId, dropOrder: 4 },
      { title: 'FAILED', value: (row) => String(row.failures), align: 'right', dropOrder: 2 },
    ],
    terminal,
  );
  return EXIT.ok;
}

/** Makes a cron and prints its id. */
export async function runCronAdd(options: CronOptions, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const fields = fieldsOf(options);
  if (fields['schedule'] === undefined) throw usage('the schedule is missing', 'pass --cron, --every or --at');
  if (fields['payload'] === undefined) throw usage('the payload is missing', 'pass --message or --event');
  if (!(await isMeant(options, fields, terminal))) return EXIT.interrupted;
  const body = await connectApi(flags).createCron(
    { body: fromOptions({ ...fields, ...(options.disabled === true ? { enabled: false } : {}) }) },
    { idempotencyKey: options.idempotencyKey },
  );
  if (terminal.isJson) terminal.json(body);
  else {
    terminal.print(body.id);
    if (body.nextRunAt !== null) terminal.note(`next: ${terminal.time(body.nextRunAt)}`);
  }
  return EXIT.ok;
}

/** Changes the named fields. */
export async function runCronEdit(
  id: string,
  options: CronOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const fields = fieldsOf(options);
  if (Object.keys(fields).length === 0)
    throw usage('no option says what to change', 'pass at least one option; --help shows them');
  if (!(await isMeant(options, fields, terminal))) return EXIT.interrupted;
  return change(await cronIdOf(connectApi(flags), id), fields, flags, terminal);
}

/** Deletes, disables, enables or runs a cron. */
export async function runCronAction(
  verb: 'rm' | 'pause' | 'resume' | 'run',
  named: string,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const api = connectApi(flags);
  const id = await cronIdOf(api, named);
  if (verb === 'pause' || verb === 'resume') return change(id, { enabled: verb === 'resume' }, flags, terminal);
  if (verb === 'rm') {
    const body = await api.deleteCron({ id });
    if (terminal.isJson) terminal.json(body);
    else terminal.print(`${id} is deleted`);
    return EXIT.ok;
  }
  const body = await api.runCron({ id });
  if (terminal.isJson) terminal.json(body);
  else terminal.print(body.messageId === null ? `${id} ran` : `${id} runs as message ${body.messageId}`);
  return EXIT.ok;
}

/** Prints the next slots, one on each line. */
export async function runCronNext(
  id: string,
  { count }: { count: number },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const api = connectApi(flags);
  const body = await api.listNextSlots({ id: await cronIdOf(api, id), count });
  if (terminal.isJson) terminal.json(body);
  else for (const { runAt } of body.items) terminal.print(terminal.time(runAt));
  return EXIT.ok;
}

/** Lists the slots of a cron with their outcomes. */
export async function runCronFires(
  id: string,
  options: PageOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const api = connectApi(flags);
  const body = await api.listFires({ id: await cronIdOf(api, id), ...options });
  printList<CronFireAnswer>(
    body,
    [
      { title: 'SLOT', value: (row) => terminal.time(row.scheduledFor) },
      { title: 'STATUS', value: (row) => row.status, style: (row) => FIRE_STYLES[row.status] },
      { title: 'SLOTS', value: (row) => String(row.slots), align: 'right', dropOrder: 3 },
      { title: 'TURN', value: (row) => row.turnId ?? '', dropOrder: 2 },
      { title: 'WHY', value: (row) => row.reason ?? (row.isManual ? 'asked for' : ''), dropOrder: 1, isProse: true },
    ],
    terminal,
  );
  return EXIT.ok;
}

async function change(id: string, fields: object, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).updateCron({ id, body: fields });
  if (terminal.isJson) terminal.json(body);
  else terminal.print(`${id}: ${body.enabled && body.nextRunAt !== null ? 'next ' : ''}${nextText(body, terminal)}`);
  return EXIT.ok;
}

/** A one-time cron in the past runs immediately, which a mistake in the date seldom means. */
async function isMeant(
  { at, yes }: CronOptions,
  fields: Record<string, unknown>,
  terminal: Terminal,
): Promise<boolean> {
  const time = (fields['schedule'] as { at?: string } | undefined)?.at;
  if (time === undefined || yes === true || Date.parse(time) >= Date.now()) return true;
  const question = `${JSON.stringify(at)} is ${time}, which is in the past. Run it immediately?`;
  return isSure(question, terminal, 'pass a time in the future, or --yes to run it immediately');
}

function fieldsOf(options: CronOptions): Record<string, unknown> {
  const { name, agent: agentId, target, wake, misfire, deliver, deleteAfterRun, tag } = options;
  const fields = {
    name,
    agentId,
    schedule: scheduleOf(options),
    payload: payloadOf(options),
    target,
    wake,
    misfire,
    delivery: deliver === undefined ? undefined : deliveryOf(deliver),
    deleteAfterRun,
    tags: tag,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function scheduleOf({ cron, tz, stagger, every, anchor, at }: CronOptions): object | undefined {
  const named = [cron, every, at].filter((one) => one !== undefined).length;
  if (named > 1) throw usage('it cannot have more than one schedule', 'pass one of --cron, --every and --at');
  if (cron === undefined && (tz ?? stagger) !== undefined)
    throw usage('--tz and --stagger belong to --cron', 'pass --cron with them');
  if (every === undefined && anchor !== undefined) throw usage('--anchor belongs to --every', 'pass --every with it');
  if (cron !== undefined) {
    const zone = tz === undefined ? {} : { tz };
    return {
      kind: 'cron',
      expr: cron,
      ...zone,
      ...(stagger === undefined ? {} : { staggerMs: durationOf('--stagger', stagger) }),
    };
  }
  if (every !== undefined) {
    return {
      kind: 'every',
      everyMs: durationOf('--every', every),
      ...(anchor === undefined ? {} : { anchor: timeFromNow(anchor) }),
    };
  }
  return at === undefined ? undefined : { kind: 'at', at: timeFromNow(at) };
}

function payloadOf({ message, event, model, thinking, timeout }: CronOptions): object | undefined {
  if (message !== undefined && event !== undefined)
    throw usage('it cannot have both --message and --event', 'pass --message or --event');
  if (event !== undefined) return { kind: 'systemEvent', text: event };
  if (message === undefined) {
    if ((model ?? thinking ?? timeout) === undefined) return undefined;
    throw usage('--model, --thinking and --timeout belong to --message', 'pass --message with them');
  }
  return {
    kind: 'agentTurn',
    message,
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(timeout === undefined ? {} : { timeoutSeconds: timeout }),
  };
}

function deliveryOf(where: string): object {
  return where === 'none' || where === 'last' || where === 'webhook'
    ? { mode: where }
    : { mode: 'webhook', url: where };
}

function durationOf(option: string, text: string): number {
  const ms = text === '0' ? 0 : parseDuration(text);
  if (ms === undefined)
    throw usage(`${option}: ${JSON.stringify(text)} is not a duration`, 'pass a duration such as 30s, 10m or 1h30m');
  return ms;
}

function scheduleText(schedule: CronAnswer['schedule']): string {
  switch (schedule.kind) {
    case 'cron':
      return `${schedule.expr} ${schedule.tz}`;
    case 'every':
      return `every ${schedule.everyMs / 1000} s`;
    case 'at':
      return `at ${schedule.at}`;
  }
}

function nextText(cron: CronAnswer, terminal: Terminal): string {
  if (!cron.enabled) return cron.disabledReason ?? 'paused';
  return cron.nextRunAt === null ? 'runs' : terminal.time(cron.nextRunAt);
}

function usage(message: string, fix: string): CliError {
  return new CliError({ code: 'usage', exitCode: EXIT.usage, message, fix });
}
