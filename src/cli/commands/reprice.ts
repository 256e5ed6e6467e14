// `holdfast prices reprice`: gives past calls the costs that the prices of the configuration give. It works on the database itself, so it
// needs the configuration of the service, and the service may run meanwhile.
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import type { RepriceOptions } from '../cost-commands.ts';
import { databaseOf } from '../database-of.ts';
import { dollarsText } from '../dollars.ts';
import { explainStartFault } from '../explain-start-fault.ts';
import { timeOf } from '../since.ts';
import type { Terminal } from '../terminal.ts';
import { loadOrRefuse } from './config.ts';

/** Prices the calls of a span of time again, and prints what has changed. */
export async function runReprice(options: RepriceOptions, terminal: Terminal): Promise<ExitCode> {
  const { config } = loadOrRefuse(EXIT.badConfiguration);
  const { priceBookOf } = await import('../../config.ts');
  const { openDatabase } = await import('../../store/database.ts');
  const { requireLayout } = await import('../../store/migrate.ts');
  const { repricePastCalls } = await import('../../service/reprice-past-calls.ts');
  const server = await databaseOf(config.runtime);
  try {
    await requireLayout(server.url);
    const database = openDatabase({ url: server.url, role: 'reprice' });
    try {
      const report = await repricePastCalls(
        { database, prices: priceBookOf(config) },
        {
          from: new Date(timeOf(options.from)),
          to: options.to === undefined ? new Date() : new Date(timeOf(options.to)),
          reason: options.reason ?? null,
          isDryRun: options.dryRun === true,
        },
      );
      if (terminal.isJson) terminal.json(report);
      else {
        const { calls, changed, beforeMicros, afterMicros, priceVersion } = report;
        const verb = options.dryRun === true ? 'would cost' : 'cost';
        terminal.print(
          `${changed} of ${calls} calls now ${verb} ${dollarsText(afterMicros / 1_000_000)}, before ${dollarsText(beforeMicros / 1_000_000)} (prices ${priceVersion})`,
        );
      }
      return EXIT.ok;
    } finally {
      await database.close();
    }
  } catch (error) {
    throw error instanceof CliError ? error : explainStartFault(error);
  } finally {
    await server.close();
  }
}
