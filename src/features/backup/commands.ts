// `holdfast backup` and `holdfast restore`: the embedded database and the files of the data
// directory as one file. Databases of other servers have tools of their own (docs/operations.md).
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { access, constants, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, normalize, relative, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { workspacesFolderOf, workspacesLinkOf } from '../../config/places.ts';
import { isAbsent, PathRefusedError } from '../../files/held-folder.ts';
import { confinedTo, type Confines } from '../../files/confines.ts';
import { openInside, removeInside, renameInside, replaceInside } from '../../files/inside.ts';
import type { Frame } from './backup-file.ts';
import { placeWorkspaces } from '../../tools/open-workspace.ts';
import { CliError, conflict, EXIT, notFound, usageError, type ExitCode } from '../../cli/cli-error.ts';
import { localCommand, type Words } from '../../cli/command.ts';
import { withDatabase } from '../../cli/with-database.ts';
import { explainStartFault } from '../../cli/explain-start-fault.ts';
import { fileError, writeError } from '../../cli/file-error.ts';
import { holdfastVersion } from '../../cli/holdfast-version.ts';
import type { Terminal } from '../../cli/terminal.ts';
import { loadOrRefuse } from '../../cli/commands/config.ts';

/**
 * Beginnings of paths in the data directory that are not part of a backup: the cluster is read
 * through SQL, and logs explain the past.
 */
const LEFT_OUT = ['postgres', 'api-url', 'logs', '.cache', 'payloads.jsonl', 'cache-trace.jsonl'];

/** A table with as much is named while it is written. */
const NOTED_BYTES = 1024 * 1024;

interface Input {
  file: string;
  yes: boolean | undefined;
}

export const words: Words = {
  backup: localCommand({
    takes: { file: ['<file>'], yes: ['--yes', 'overwrite the file'] },
    run: (input, { terminal }) => runBackup(input, terminal),
  }),
  restore: localCommand({
    takes: { file: ['<file>'], yes: ['--yes', 'replace the contents of the database'] },
    run: (input, { terminal }) => runRestore(input, terminal),
  }),
};

/**
 * Writes the file, or nothing. It is on the disk before it has its name. The database of an older
 * version is taken as it is, before `migrate`.
 */
async function runBackup({ file, yes }: Input, terminal: Terminal): Promise<ExitCode> {
  const { runtime } = embeddedOnly('backup', 'pg_dump');
  const path = resolve(file);
  if (yes !== true && (await stat(path).catch(() => null)) !== null)
    throw conflict(`${path} exists.`, 'Name another file, or overwrite it with --yes.', 'exists');
  const folder = dirname(path);
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
  } catch (cause) {
    throw writeError(path, cause) ?? fileError('write', path, { cause, fix: 'name a file in another folder' });
  }
  const { databaseFrames } = await import('./backup-file.ts');
  const { encodeFrame: frameOf } = await import('./backup-file.ts');
  const { requireAnyLayout } = await import('../../database/migrate.ts');
  const counted = { tables: 0, files: 0 };
  const partial = `${path}.partial`;
  async function* frames(databaseUrl: string): AsyncGenerator<Buffer> {
    yield* databaseFrames({
      databaseUrl,
      version: holdfastVersion(),
      onTable(table, bytes) {
        counted.tables += 1;
        if (bytes >= NOTED_BYTES) terminal.note(`${table}: ${(bytes / NOTED_BYTES).toFixed(0)} MB`);
      },
    });
    for await (const found of filesIn(runtime.dataDir)) {
      const data = await readData(found);
      // The service runs, and commands of agents with it.
      if (data === null) continue;
      yield frameOf({ file: found.name, mode: data.mode }, data.bytes);
      counted.files += 1;
    }
    yield frameOf({ isComplete: true, ...counted });
  }
  await withDatabase(runtime, async ({ url }) => {
    try {
      await requireAnyLayout(url);
      const target = createWriteStream(partial, { mode: 0o600, flush: true });
      await pipeline(Readable.from(frames(url)), createGzip(), target);
      await rename(partial, path);
    } catch (error) {
      // On a broken disk this fails, too.
      await rm(partial, { force: true }).catch(() => undefined);
      throw writeError(path, error) ?? error;
    }
  });
  const { size } = await stat(path);
  if (terminal.isJson) terminal.json({ file: path, bytes: size, ...counted });
  else terminal.print(`${path}: ${sizeText(size)}, ${counted.tables} tables, ${counted.files} files`);
  terminal.note('It has all conversations and the keys of the service: keep it as safe as those.');
  return EXIT.ok;
}

/**
 * A file of the data directory; null: it is gone, or a command has put something else in its place.
 */
async function readData({ name, folder }: DataFile): Promise<{ bytes: Buffer; mode: number } | null> {
  try {
    const { file, facts } = await openInside(name, confinedTo(folder));
    try {
      return { bytes: await file.readFile(), mode: Number(facts.mode) & 0o777 };
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (isAbsent(cause) || cause instanceof PathRefusedError) return null;
    const isTooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_FS_FILE_TOO_LARGE';
    const fix = isTooLarge ? 'move it out of the data directory' : 'run the command as the user of the service';
    throw fileError('read', join(folder, name), { cause, fix });
  }
}

function sizeText(bytes: number): string {
  return bytes < NOTED_BYTES ? `${Math.ceil(bytes / 1024)} kB` : `${(bytes / NOTED_BYTES).toFixed(1)} MB`;
}

/**
 * Restores the database, then the files. When it fails, a database that it has made for that is
 * deleted.
 */
async function runRestore({ file, yes }: Input, terminal: Terminal): Promise<ExitCode> {
  const config = embeddedOnly('restore', 'pg_restore');
  const { dataDir } = config.runtime;
  const path = resolve(file);
  if ((await stat(path).catch(() => null))?.isFile() !== true)
    throw notFound(`There is no file ${path}.`, 'Name a file that "holdfast backup" has made.');
  const { restoreDatabase } = await import('./backup-file.ts');
  const { isDatabaseUnused } = await import('../../database/inspect-database.ts');
  const { readFrames } = await import('./backup-file.ts');
  const { startEmbeddedPostgres } = await import('../../embedded-postgres/start-embedded-postgres.ts');
  const database = await startEmbeddedPostgres({ dataDir });
  const staged: StagedFiles = { names: [], folders: [] };
  const source = createGunzip();
  createReadStream(path)
    .on('error', (cause) =>
      source.destroy(fileError('read', path, { cause, fix: 'name a file that this user may read' })),
    )
    .pipe(source);
  try {
    if (await placeWorkspaces(config)) staged.folders.push(workspacesFolderOf(dataDir), workspacesLinkOf(dataDir));
    const restored = await restoreDatabase({
      databaseUrl: database.url,
      frames: readFrames(source),
      replaces: yes === true,
      onFile: (frame) => stage(staged, dataDir, frame),
    });
    // From here on, they hold restored files.
    staged.folders = [];
    for (const name of staged.names) await renameInside(partialOf(name), confinesOf(dataDir, name), basename(name));
    show(terminal, { ...restored, files: staged.names.length });
    return EXIT.ok;
  } catch (error) {
    await removeStaged(staged, dataDir);
    // Once rows are committed, the database is used, and stays.
    await database.discard(() => isDatabaseUnused(database.url).catch(() => false));
    throw await explainRestoreFault(error, path);
  } finally {
    source.destroy();
    await database.stop();
  }
}

async function explainRestoreFault(error: unknown, path: string): Promise<unknown> {
  const { RestoreRefused } = await import('./backup-file.ts');
  if (error instanceof RestoreRefused) return refusal(error.code, error.message);
  if (error instanceof PathRefusedError)
    return refusal('leads_outside', `A file cannot be restored: ${error.message}.`);
  if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code?.startsWith('Z_') === true)
    return refusal('not_a_backup', `${path} is damaged, or no backup of Holdfast: ${(error as Error).message}.`);
  return error instanceof CliError ? error : explainStartFault(error);
}

type Restored = Awaited<ReturnType<typeof import('./backup-file.ts').restoreDatabase>>;

function show(terminal: Terminal, { header, doubts, ...counts }: Restored & { files: number }): void {
  if (terminal.isJson)
    return terminal.json({ createdAt: header.createdAt, holdfast: header.holdfast, ...counts, doubts });
  const { sessions, waiting, openTurns, files } = counts;
  terminal.print(
    `restored the state of ${header.createdAt}: ${sessions} sessions, ${waiting} waiting messages, ${openTurns} open turns, ${files} files`,
  );
  if (doubts.length === 0) return;
  terminal.print(
    `${doubts.length} tool calls had begun and had not ended. They may have taken effect after the backup; check them:`,
  );
  terminal.table(
    [
      { title: 'SESSION', value: ({ sessionKey }) => sessionKey },
      { title: 'TURN', value: ({ turnId }) => turnId },
      { title: 'TOOL', value: ({ name }) => name },
    ],
    doubts,
  );
}

function refusal(code: string, message: string): CliError {
  const fixes: Record<string, string> = {
    in_use: 'Stop it, and run the command again.',
    leads_outside:
      'Remove the link in the data directory that this path goes through, and run the command again. Nothing was restored.',
    not_empty: 'Set HOLDFAST_DATA_DIR to an empty folder, or replace what is there with --yes.',
  };
  return new CliError({
    code,
    exitCode: code === 'not_a_backup' ? EXIT.failed : EXIT.conflict,
    message,
    fix: fixes[code] ?? 'Use another file. The database and the files of the data directory are as they were.',
  });
}

function embeddedOnly(command: string, other: string) {
  const { config } = loadOrRefuse(EXIT.badConfiguration);
  if (config.runtime.databaseUrl === undefined) return config;
  throw usageError(
    `DATABASE_URL is set, and "holdfast ${command}" is for the embedded database.`,
    `Use ${other} for the server of DATABASE_URL: see docs/operations.md.`,
    'not_embedded',
  );
}

interface DataFile {
  /** In the data directory, also where workspaces are outside. */
  name: string;
  /** That it is in, however deep. */
  folder: string;
}

async function* filesIn(dataDir: string): AsyncGenerator<DataFile> {
  for (const folder of new Set([dataDir, workspacesFolderOf(dataDir)])) {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const name = relative(folder, join(entry.parentPath, entry.name));
      const isLeftOut = LEFT_OUT.some((begin) => name.startsWith(begin)) || name.endsWith('.partial');
      if (entry.isFile() && !isLeftOut) yield { name, folder };
    }
  }
}

/** Files that wait next to their final paths until the database is restored. */
interface StagedFiles {
  names: string[];
  /** Made for them, without the folders in these. */
  folders: string[];
}

const partialOf = (name: string): string => `${name}.partial`;

/** A folder in a workspace may have become a link since the backup was made. */
function confinesOf(dataDir: string, name: string): Confines {
  return confinedTo(name.startsWith('workspace') ? workspacesFolderOf(dataDir) : dataDir);
}

async function stage(staged: StagedFiles, dataDir: string, { head, bytes }: Frame): Promise<void> {
  const name = normalize(String(head['file']));
  if (name.startsWith('..') || name.startsWith('/') || LEFT_OUT.some((path) => name.startsWith(path)))
    throw refusal('not_a_backup', `The backup has a file ${name}, which does not belong into a data directory.`);
  const confines = confinesOf(dataDir, name);
  const made = firstMissing(dirname(join(confines.base, name)));
  if (made !== null) staged.folders.push(made);
  staged.names.push(name);
  await replaceInside(partialOf(name), confines, bytes, { mode: Number(head['mode']) & 0o777 });
}

/** The topmost folder that is made for another one; null: that is there. */
function firstMissing(folder: string): string | null {
  if (existsSync(folder)) return null;
  return firstMissing(dirname(folder)) ?? folder;
}

async function removeStaged({ names, folders }: StagedFiles, dataDir: string): Promise<void> {
  for (const name of names) await removeInside(partialOf(name), confinesOf(dataDir, name)).catch(() => undefined);
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
}
