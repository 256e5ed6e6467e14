// `holdfast migrate`: applies the missing migrations to the database, the embedded one when no other is configured.
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import { databaseOf } from '../database-of.ts';
import { explainStartFault } from '../explain-start-fault.ts';
import type { Terminal } from '../terminal.ts';
import { loadOrRefuse } from './config.ts';

/** Applies the missing migrations and prints the names of their files. */
export async function runMigrate(terminal: Terminal): Promise<ExitCode> {
  const { config } = loadOrRefuse(EXIT.badConfiguration);
  const { migrate } = await import('../../store/migrate.ts');
  const database = await databaseOf(config.runtime);
  try {
    for (const warning of database.warnings) terminal.note(`warning: ${warning}`);
    const { applied } = await migrate(database.url);
    // Without Redis, the queue has its own tables in the same database.
    if (config.runtime.redisUrl === undefined) {
      const { migrateQueue } = await import('../../../workers/queue/migrate-queue.ts');
      await migrateQueue(database.url);
    }
    if (terminal.isJson) terminal.json({ applied });
    else for (const name of applied) terminal.print(name);
    terminal.note(applied.length === 0 ? 'nothing to apply: the database is up to date' : `${applied.length} applied`);
    return EXIT.ok;
  } catch (error) {
    throw error instanceof CliError ? error : explainStartFault(error);
  } finally {
    await database.close();
  }
}

/** Prints what would be applied, and changes nothing. */
export async function runMigratePlan(terminal: Terminal): Promise<ExitCode> {
  const { config } = loadOrRefuse(EXIT.badConfiguration);
  const { planMigrations } = await import('../../store/migrate.ts');
  const database = await databaseOf(config.runtime);
  try {
    const { planned, isEmpty } = await planMigrations(database.url);
    if (terminal.isJson) terminal.json({ pending: planned });
    else if (isEmpty) {
      terminal.print(
        `The database is empty: all ${planned.length} migrations would be applied, and nothing is in use.`,
      );
      return EXIT.ok;
    }
    for (const { name, purpose, needs, locks } of terminal.isJson ? [] : planned) {
      terminal.print(`${name}: ${purpose}`);
      for (const { text, rows } of locks) terminal.print(`  ${text} (about ${Math.round(rows)} rows)`);
      if (locks.length === 0) terminal.print('  locks nothing that is in use');
      terminal.print(
        needs === null
          ? '  processes of older versions keep running, and can be started again'
          : `  processes that do not know ${needs} must have ended before`,
      );
    }
    terminal.note(
      planned.length === 0 ? 'nothing to apply: the database is up to date' : `${planned.length} would be applied`,
    );
    return EXIT.ok;
  } catch (error) {
    throw explainStartFault(error);
  } finally {
    await database.close();
  }
}
