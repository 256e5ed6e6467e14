// `holdfast prices reprice`: gives past calls the costs that the prices of the configuration give.
// It works on the database itself, so it needs the configuration of the service, and the service
// may run meanwhile.
import { EXIT, usageError, type ExitCode } from '../../cli/cli-error.ts';
import { withDatabase } from '../../cli/with-database.ts';
import { moneyText } from '../../core/words.ts';
import type { RepricingReport } from './reprice-past-calls.ts';
import { ask, isAsked } from '../../cli/is-sure.ts';
import type { Terminal } from '../../cli/terminal.ts';
import { loadOrRefuse } from '../../cli/commands/config.ts';

export interface Repricing {
  /** ISO 8601. */
  from: string;
  to: string | undefined;
  reason: string | undefined;
  dryRun: boolean | undefined;
  yes: boolean | undefined;
}

/** Prices the calls of a period again, and prints the changes. */
export async function reprice(options: Repricing, terminal: Terminal): Promise<ExitCode> {
  const { config } = loadOrRefuse(EXIT.badConfiguration);
  const period = parsePeriod(options);
  const { priceBookOf } = await import('../../config.ts');
  const { openDatabase } = await import('../../database/database.ts');
  const { requireLayout } = await import('../../database/migrate.ts');
  const { repricePastCalls } = await import('./reprice-past-calls.ts');
  return withDatabase(config.runtime, async ({ url }) => {
    await requireLayout(url);
    const database = openDatabase({ url, role: 'reprice' });
    try {
      const request = { ...period, reason: options.reason ?? null };
      const run = (isDryRun: boolean) =>
        repricePastCalls({ database, prices: priceBookOf(config) }, { ...request, isDryRun });
      const isDry = options.dryRun === true;
      if (!isDry && options.yes !== true && isAsked(terminal)) {
        terminal.note(toLine(await run(true), true));
        if (!(await ask('Reprice them?'))) return EXIT.interrupted;
      }
      const report = await run(isDry);
      if (terminal.isJson) terminal.json(report);
      else terminal.print(toLine(report, isDry));
      return EXIT.ok;
    } finally {
      await database.close();
    }
  });
}

function parsePeriod({ from, to }: Repricing): { from: Date; to: Date } {
  const period = { from: new Date(from), to: to === undefined ? new Date() : new Date(to) };
  if (period.from < period.to) return period;
  throw usageError(
    `--from (${period.from.toISOString()}) is not before --to (${period.to.toISOString()})`,
    'pass a time for --from that is before that of --to',
    'bad_time',
  );
}

function toLine({ calls, changed, beforeMicros, afterMicros, priceVersion }: RepricingReport, isDry: boolean): string {
  const [before, after] = [beforeMicros, afterMicros].map((micros) => moneyText(micros / 1_000_000));
  return `${changed} of ${calls} calls now ${isDry ? 'would cost' : 'cost'} ${after}, before ${before} (prices ${priceVersion})`;
}
