// A file that a command cannot read or write, as an error of the command line: in words, with its whole path.
import { resolve } from 'node:path';
import { CliError, EXIT } from './cli-error.ts';

/** By the code of Node; for what is not here, the words of Node say it. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not do that',
  EPERM: 'this user may not do that',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is not a folder',
  // Of a folder that is to be made.
  EEXIST: 'a part of its path is not a folder',
  ENOSPC: 'the disk is full',
  EROFS: 'its file system is read-only',
};

/** `cause`: the error of Node, or what is wrong with the file. */
export function fileError(
  act: 'read' | 'write',
  file: string,
  { cause, fix }: { cause: unknown; fix: string },
): CliError {
  return new CliError({
    code: 'bad_file',
    exitCode: EXIT.usage,
    message: `cannot ${act} ${resolve(file)}: ${explainCause(act, cause)}`,
    fix,
    cause,
  });
}

function explainCause(act: 'read' | 'write', cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'ENOENT') return act === 'read' ? 'there is no such file' : 'there is no such folder';
  return REASONS[code ?? ''] ?? cause.message;
}

/** The error of a file that could not be opened for writing; null: something else has failed. */
export function openError(file: string, cause: unknown): CliError | null {
  if ((cause as NodeJS.ErrnoException | null)?.syscall !== 'open') return null;
  return fileError('write', file, { cause, fix: 'pass the name of a file that this user may write' });
}
