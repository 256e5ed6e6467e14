// `holdfast config diff` and `config reload`: the changes that a running service would make with the current file, and making them.
import type { ConfigChanges as ConfigChangesAnswer } from '../../contract/settings.ts';
import { connectApi, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import type { Terminal } from '../terminal.ts';

type Change = ConfigChangesAnswer['items'][number];

const PROCESSES_SHOWN = 200;

/** Prints every difference. */
export async function runConfigDiff(flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const answer = await connectApi(flags).compareConfig();
  if (terminal.isJson) terminal.json(answer);
  else printChanges(answer.items, 'after "holdfast config reload"', terminal);
  return EXIT.ok;
}

/** Reads the file again in the process that answers, and names the processes that have not read it. */
export async function runConfigReload(flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const api = connectApi(flags);
  const answer = await api.reloadConfig({ body: { reload: true } });
  if (terminal.isJson) {
    terminal.json(answer);
    return EXIT.ok;
  }
  printChanges(answer.items, 'now', terminal);
  const { items } = await api.listWorkers({ limit: PROCESSES_SHOWN });
  const others = items.filter(
    ({ pid, host, state }) => state !== 'lost' && (pid !== answer.pid || host !== answer.host),
  );
  for (const { host, pid, roles } of others) {
    terminal.note(`not reloaded: process ${pid} on ${host} (${roles.join(',')}); send it SIGHUP, or restart it`);
  }
  return EXIT.ok;
}

function printChanges(changes: readonly Change[], when: string, terminal: Terminal): void {
  if (changes.length === 0) terminal.note('the running configuration is that of the file and the environment');
  else {
    terminal.table<Change>(
      [
        { title: 'SETTING', value: (row) => row.path },
        { title: 'RUNNING', value: (row) => JSON.stringify(row.value) },
        { title: 'FILE', value: (row) => JSON.stringify(row.next) },
        {
          title: 'TAKES EFFECT',
          value: (row) => (isWithoutEffect(row) ? 'never' : row.needsRestart ? 'after a restart' : when),
          style: (row) => (row.needsRestart || isWithoutEffect(row) ? 'yellow' : undefined),
        },
      ],
      changes,
    );
    if (changes.some(isWithoutEffect))
      terminal.note('the file no longer has budgets: the budgets stay in force; "budgets: []" ends them');
  }
}

/** A service of an earlier version does not say it. */
function isWithoutEffect({ hasEffect }: { hasEffect?: boolean }): boolean {
  return hasEffect === false;
}
