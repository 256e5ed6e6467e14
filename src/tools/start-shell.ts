// Starts the shell of a command, as the leader of a new process group.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { OsUser } from '../config/os-users.ts';

export interface ShellStart {
  command: string;
  /** Absolute, existing. */
  workdir: string;
  environment: Record<string, string>;
  /** The user that runs it; null: the user of this process. */
  user: OsUser | null;
  /** The command's standard input: empty, or the bytes that are written after the line that starts it. */
  stdin: 'empty' | 'open';
}

/**
 * The outer sh waits for a line before it becomes the shell that runs the command: if this process crashes before the group is guarded,
 * the line is never sent and nothing runs. It gives the shell one pipe for both of its outputs, so that their order is kept.
 */
export function startShell({ command, workdir, environment, user, stdin }: ShellStart) {
  const from = stdin === 'empty' ? ' </dev/null' : '';
  const shell = spawn('/bin/sh', ['-c', `read -r go && exec "$@"${from} 2>&1`, 'sh', ...shellFor(command)], {
    cwd: workdir,
    env: environment,
    detached: true,
    // The folder is entered before the rights are dropped, so it may be below folders that the user cannot enter.
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  // It may be killed before it has read.
  shell.stdin.on('error', () => undefined);
  return shell;
}

/**
 * `--norc` because the pipes of Node are sockets, which bash takes for a login from another machine. `--` because a command may begin
 * with a dash.
 */
function shellFor(command: string): string[] {
  const shell = existsSync('/bin/bash') ? ['/bin/bash', '--norc'] : ['/bin/sh'];
  return [...shell, '-c', '--', command];
}
