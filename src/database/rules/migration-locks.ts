// What a migration locks, read from its SQL: for the plan that an operator sees before it runs. It
// knows the statements that migrations are made of (test/migrations.test.ts), and calls anything
// else by its name.

/**
 * The effect of a statement on a table that is in use. `none`: none, or only on tables that the
 * migration creates itself.
 */
export type LockKind = 'none' | 'short' | 'blocks-writes' | 'blocks-all' | 'changes-rows';

export interface MigrationLock {
  kind: LockKind;
  /** Without the schema. */
  table: string;
  /** For people. */
  text: string;
}

const NAME = String.raw`(?:if (?:not )?exists )?(?:only )?holdfast\.(\w+)`;

/** What its statements lock, in their order; statements that lock nothing are left out. */
export function locksOfMigration(sql: string): MigrationLock[] {
  const made = new Set<string>();
  return splitStatements(sql).flatMap((statement) => {
    const created = new RegExp(`^create table ${NAME}`, 'i').exec(statement)?.[1];
    if (created !== undefined) made.add(created);
    const lock = classifyLock(statement);
    return lock === null || made.has(lock.table) ? [] : [lock];
  });
}

/** The comment that a migration begins with, as one line. */
export function purposeOfMigration(sql: string): string {
  return splitHead(sql)
    .filter((line) => !NEEDS.test(line))
    .join(' ')
    .trim();
}

const NEEDS = /^needs: (\w+\.sql)$/;

/**
 * The migration that code must know to work with the layout after this one, from the line `--
 * needs: 0044_older_code.sql` of its head. Null: it only adds, so every older version works with
 * it.
 */
export function needsOfMigration(sql: string): string | null {
  for (const line of splitHead(sql)) {
    const name = NEEDS.exec(line)?.[1];
    if (name !== undefined) return name;
  }
  return null;
}

function splitHead(sql: string): string[] {
  const lines = sql.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--'));
  return lines.slice(0, end === -1 ? lines.length : end).map((line) => line.replace(/^--\s?/, ''));
}

function splitStatements(sql: string): string[] {
  return sql
    .replaceAll(/--.*$/gm, '')
    .split(/;\s*(?:\n|$)/)
    .map((text) => text.replaceAll(/\s+/g, ' ').trim())
    .filter((text) => text !== '');
}

function classifyLock(statement: string): MigrationLock | null {
  const index = new RegExp(`^create (?:unique )?index (concurrently )?\\w+ on ${NAME}`, 'i').exec(statement);
  if (index !== null) {
    const [, concurrently, table = ''] = index;
    return concurrently === undefined
      ? { kind: 'blocks-writes', table, text: `blocks writes to ${table} while it reads all of it for an index` }
      : { kind: 'none', table, text: `builds an index of ${table} beside other work` };
  }
  const altered = new RegExp(`^alter table ${NAME} (.*)$`, 'i').exec(statement);
  if (altered !== null) {
    const [, table = '', change = ''] = altered;
    if (/\balter column \w+ type\b/i.test(change))
      return { kind: 'blocks-all', table, text: `writes ${table} anew, and blocks it meanwhile` };
    if (
      /\badd constraint\b|\bset not null\b|\badd (?:primary key|unique|check|foreign key)\b/i.test(change) &&
      !/\bnot valid\b/i.test(change)
    )
      return { kind: 'blocks-all', table, text: `blocks ${table} while it checks all of it` };
    return { kind: 'short', table, text: `locks ${table} briefly` };
  }
  const changed = new RegExp(`^(?:update|delete from|insert into) ${NAME}`, 'i').exec(statement);
  if (changed !== null) return { kind: 'changes-rows', table: changed[1] ?? '', text: `changes rows of ${changed[1]}` };
  const triggered = new RegExp(`^create trigger \\w+ .*? on ${NAME}`, 'i').exec(statement)?.[1];
  if (triggered !== undefined) return { kind: 'short', table: triggered, text: `locks ${triggered} briefly` };
  const dropped = new RegExp(`^drop (?:table|index) ${NAME}`, 'i').exec(statement);
  return dropped === null ? null : { kind: 'short', table: dropped[1] ?? '', text: `drops ${dropped[1]}` };
}
