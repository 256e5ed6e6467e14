// A file that a command cannot read or write, as an error of the command line: in words, with its
// whole path.
import { resolve } from 'node:path';
import { CliError, EXIT } from './cli-error.ts';

/** By the code of Node; for what is not here, the words of Node say it. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not do that',
  EPERM: 'this user may not do that',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is not a folder',
  // Only for a folder that is to be made.
  EEXIST: 'a part of its path is not a folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota of this user is used up',
  ERR_FS_FILE_TOO_LARGE: 'it has more than 2 GiB',
  EFBIG: 'it is too large for its file system or for the limits of this process',
  EIO: 'the disk reports a fault',
  EROFS: 'its file system is read-only',
  ENAMETOOLONG: 'its name is too long',
};

/** What ends a write that had begun. */
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO']);

/** `cause`: the error of Node, or what is wrong with the file. */
export function fileError(
  act: 'read' | 'write',
  file: string,
  { cause, fix }: { cause: unknown; fix: string },
): CliError {
  return new CliError({
    code: 'bad_file',
    exitCode: FULL.has((cause as NodeJS.ErrnoException | null)?.code ?? '') ? EXIT.failed : EXIT.usage,
    message: `cannot ${act} ${resolve(file)}: ${explainCause(act, cause)}`,
    fix,
    cause,
  });
}

/** The reason in words. */
export function explainCause(act: 'read' | 'write', cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'ENOENT') return act === 'read' ? 'there is no such file' : 'there is no such folder';
  return REASONS[code ?? ''] ?? cause.message;
}

/** The error of a file that could not be written; null: something else has failed. */
export function writeError(file: string, cause: unknown): CliError | null {
  const { code = '', syscall } = (cause ?? {}) as NodeJS.ErrnoException;
  if (syscall !== 'open' && REASONS[code] === undefined) return null;
  const fix = FULL.has(code)
    ? 'make room on the disk, or pass the name of a file on another one, and run the command again'
    : 'pass the name of a file that this user may write';
  return fileError('write', file, { cause, fix });
}
