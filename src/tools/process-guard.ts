// Ends the commands of a worker process that was killed without a chance to do it itself (SIGKILL,
// out of memory): a command that continued would run in parallel with the turn that another worker
// has taken over. One small shell per process, started with the first command, reads from a pipe
// which groups run; the end of the pipe is the end of this process, and then it ends those that are
// left.
import { type ChildProcess, spawn } from 'node:child_process';

/** `+ id` adds a group, `- id` removes one. After the last line: TERM, 2 s, KILL. */
const GUARD_SCRIPT = `
groups=
while read -r change id; do
  case $change in
    +) groups="$groups $id" ;;
    -) kept=; for group in $groups; do [ "$group" = "$id" ] || kept="$kept $group"; done; groups=$kept ;;
  esac
done
[ -n "$groups" ] || exit 0
for group in $groups; do kill -TERM "-$group"; done
sleep 2
for group in $groups; do kill -KILL "-$group"; done
`;

/**
 * The guard of this process, absent until the first command and after the guard has ended; then the
 * next command starts another.
 */
let running: { shell: ChildProcess; write: (line: string) => void } | undefined;
/** What runs now, so that a new guard knows of it. */
const groupIds = new Set<number>();

/** From now on the group ends with this process, if it did not end before. */
export function guardProcessGroup(groupId: number): void {
  groupIds.add(groupId);
  if (running !== undefined) running.write(`+ ${groupId}`);
  else start();
}

/** The group has ended. */
export function releaseProcessGroup(groupId: number): void {
  groupIds.delete(groupId);
  running?.write(`- ${groupId}`);
}

function start(): void {
  // A separate process session: signals to this process's group, such as Ctrl-C, do not reach it.
  const shell = spawn('/bin/sh', ['-c', GUARD_SCRIPT], {
    env: { PATH: '/usr/bin:/bin' },
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const forget = () => {
    if (running?.shell === shell) running = undefined;
  };
  shell.on('error', forget);
  shell.on('exit', forget);
  shell.stdin.on('error', forget);
  // Neither keeps this process alive. The pipe is a socket, which its type does not say.
  shell.unref();
  (shell.stdin as unknown as { unref: () => void }).unref();
  running = { shell, write: (line) => shell.stdin.write(`${line}\n`) };
  for (const groupId of groupIds) running.write(`+ ${groupId}`);
}
