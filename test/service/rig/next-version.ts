// The next version of Holdfast: this tree with one more migration, as in an ordinary upgrade.
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Last in the order of names, whatever migrations this version has. */
export const NEXT_MIGRATION = '9999_next_version.sql';

const SQL = `-- What an upgrade adds: a table, columns of tables in use, and an index.
create table holdfast.next_things (id uuid primary key, note text not null);
alter table holdfast.turns add column next_note text;
alter table holdfast.inbox add column next_rank integer not null default 0;
alter table holdfast.sessions add column next_note text;
create index turns_with_next_note on holdfast.turns (id) where next_note is not null;
`;

const own = fileURLToPath(new URL('../../..', import.meta.url));
const COPIED = ['src', 'workers', 'jobs', 'migrations', 'demo', 'scripted-model', 'web/dist', 'package.json'];

/** Makes it in a new folder; `remove` deletes the folder. */
export function makeNextVersion(): { rootDir: string; remove(): void } {
  const rootDir = mkdtempSync(join(tmpdir(), 'holdfast-next-'));
  for (const name of COPIED.filter((each) => existsSync(join(own, each))))
    cpSync(join(own, name), join(rootDir, name), { recursive: true });
  symlinkSync(join(own, 'node_modules'), join(rootDir, 'node_modules'));
  writeFileSync(join(rootDir, 'migrations', NEXT_MIGRATION), SQL);
  return { rootDir, remove: () => rmSync(rootDir, { recursive: true, force: true }) };
}
