import { describe, expect, test } from 'vitest';
import { locksOfMigration, purposeOfMigration } from '../../src/core/migration-locks.ts';

describe('the locks of a migration', () => {
  test.each([
    ['create index a on holdfast.inbox (id) where status = 1;', 'blocks-writes', 'inbox'],
    ['create unique index a on holdfast.turns (id);', 'blocks-writes', 'turns'],
    ['create index concurrently a on holdfast.turns (id);', 'none', 'turns'],
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
