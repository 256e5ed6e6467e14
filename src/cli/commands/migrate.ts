// `holdfast migrate`: applies the missing migrations to the database, the embedded one when no
// other is configured.
import { EXIT } from '../cli-error.ts';
import { withDatabase } from '../with-database.ts';
import type { Terminal } from '../terminal.ts';
import { loadOrRefuse } from './config.ts';

/** Applies the missing migrations and prints the names of their files. */
export async function runMigrate(terminal: Terminal): Promise<void> {
  const { runtime } = loadOrRefuse(EXIT.badConfiguration).config;
  const { migrate } = await import('../../database/migrate.ts');
  await withDatabase(runtime, async ({ url, warnings }) => {
    for (const warning of warnings) terminal.note(`warning: ${warning}`);
    const { applied } = await migrate(url);
    // Without Redis, the queue has its own tables in the same database.
    if (runtime.redisUrl === undefined) {
      const { migrateQueue } = await import('../../../workers/queue/migrate-queue.ts');
      await migrateQueue(url);
    }
    if (terminal.isJson) terminal.json({ applied });
    else for (const name of applied) terminal.print(name);
    terminal.note(applied.length === 0 ? 'nothing to apply: the database is up to date' : `${applied.length} applied`);
  });
}

/** Prints what would be applied, and changes nothing. */
export async function runMigratePlan(terminal: Terminal): Promise<void> {
  const { runtime } = loadOrRefuse(EXIT.badConfiguration).config;
  const { planMigrations } = await import('../../database/migrate.ts');
  const { planned, isEmpty } = await withDatabase(runtime, ({ url }) => planMigrations(url));
  if (terminal.isJson) return terminal.json({ pending: planned });
  if (isEmpty)
    return terminal.print(
      `The database is empty: all ${planned.length} migrations would be applied, and nothing is in use.`,
    );
  for (const { name, purpose, needs, locks } of planned) {
    terminal.print(`${name}: ${purpose}`);
    for (const { text, rows } of locks) terminal.print(`  ${text} (about ${Math.round(rows)} rows)`);
    if (locks.length === 0) terminal.print('  locks nothing that is in use');
    terminal.print(
      needs === null
        ? '  processes of older versions keep running, and can be started again'
        : `  processes that do not know ${needs} must have ended before`,
    );
  }
  const isDone = planned.length === 0;
  terminal.note(isDone ? 'nothing to apply: the database is up to date' : `${planned.length} would be applied`);
}
