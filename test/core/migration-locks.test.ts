import { describe, expect, test } from 'vitest';
import { locksOfMigration, needsOfMigration, purposeOfMigration } from '../../src/database/rules/migration-locks.ts';
import { takesAway } from './takes-away.ts';

describe('the locks of a migration', () => {
  test.each([
    ['create index a on holdfast.inbox (id) where status = 1;', 'blocks-writes', 'inbox'],
    ['create unique index a on holdfast.turns (id);', 'blocks-writes', 'turns'],
    ['create index concurrently a on holdfast.turns (id);', 'none', 'turns'],
    [
      'create trigger a before insert or update of body on holdfast.inbox for each row execute function f();',
      'short',
      'inbox',
    ],
    ['alter table holdfast.inbox add column deliver_at timestamptz;', 'short', 'inbox'],
    ['alter table holdfast.inbox add constraint c check (a > 0);', 'blocks-all', 'inbox'],
    ['alter table holdfast.inbox add constraint c check (a > 0) not valid;', 'short', 'inbox'],
    ['alter table holdfast.turns alter column a type bigint;', 'blocks-all', 'turns'],
    ['alter table holdfast.turns alter column a set not null;', 'blocks-all', 'turns'],
    ['update holdfast.workers set a = 1;', 'changes-rows', 'workers'],
    ['drop table if exists holdfast.workers;', 'short', 'workers'],
  ])('%s', (sql, kind, table) => {
    expect(locksOfMigration(`-- Why.\n${sql}\n`)).toMatchObject([{ kind, table }]);
  });

  test('are none on tables that it makes', () => {
    const sql =
      'create table holdfast.pauses (id int);\ncreate index a on holdfast.pauses (id);\ninsert into holdfast.pauses values (1);';
    expect(locksOfMigration(sql)).toEqual([]);
  });
});

test('the purpose of a migration is the comment that it begins with', () => {
  expect(purposeOfMigration('-- What a person\n-- has paused.\ncreate table holdfast.a (id int);\n-- More.\n')).toBe(
    'What a person has paused.',
  );
});

describe('the locks of a migration', () => {
  const sql =
    '-- Drops what nothing reads any more.\n-- needs: 0050_new_column.sql\nalter table holdfast.turns drop column old;\n';

  test('is the migration that its head names, which is not part of its purpose', () => {
    expect(needsOfMigration(sql)).toBe('0050_new_column.sql');
    expect(purposeOfMigration(sql)).toBe('Drops what nothing reads any more.');
    expect(needsOfMigration('-- What a person has paused.\ncreate table holdfast.a (id int);\n')).toBeNull();
  });

  test.each([
    'alter table holdfast.turns drop column old;',
    'drop table holdfast.old;',
    'alter table holdfast.turns rename column a to b;',
    'alter table holdfast.turns alter column a type bigint;',
    'alter table holdfast.turns alter column a set not null;',
  ])('must be said by one that takes something away: %s', (statement) => {
    expect(takesAway(`-- Why.\n${statement}\n`)).toBe(true);
  });

  test.each([
    'alter table holdfast.turns add column a bigint;',
    'create table holdfast.a (id int not null);',
    'drop index holdfast.old;',
    'alter table holdfast.turns drop constraint c;',
  ])('need not be said by one that adds: %s', (statement) => {
    expect(takesAway(`-- Why.\n${statement}\n`)).toBe(false);
  });
});
