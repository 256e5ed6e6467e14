// Cleans up after a demo that could not do it itself (SIGKILL, a closed pipe): a small shell that
// reads from a pipe which processes run. The end of the pipe is the end of the demo, and then it
// ends what is left, the database too, and removes the directory.
import { spawn } from 'node:child_process';

export interface Guard {
  /** From now on this process ends with the demo. */
  add(pid: number): void;
  /** It has ended. */
  remove(pid: number): void;
  /**
   * The demo has ended everything itself: only the directory is left for the guard to check.
   * Resolves when the guard has ended too.
   */
  release(): Promise<void>;
}

/**
 * `$1` is the directory of the demo. Waits are bounded: TERM, up to 10 s, KILL; then the same for
 * the database.
 */
const GUARD_SCRIPT = `
pids=
while read -r change id; do
  case $change in
    +) pids="$pids $id" ;;
    -) kept=; for pid in $pids; do [ "$pid" = "$id" ] || kept="$kept $pid"; done; pids=$kept ;;
  esac
done
await() {
  tries=0
  while [ $tries -lt 100 ]; do
    alive=
    for pid in "$@"; do kill -0 "$pid" 2>/dev/null && alive=1; done
    [ -n "$alive" ] || return 0
    tries=$((tries + 1))
    sleep 0.1
  done
}
for pid in $pids; do kill -TERM "$pid" 2>/dev/null; done
await $pids
for pid in $pids; do kill -KILL "$pid" 2>/dev/null; done
if [ -r "$1/postgres/postmaster.pid" ]; then
  read -r postmaster < "$1/postgres/postmaster.pid"
  kill -INT "$postmaster" 2>/dev/null && await "$postmaster"
fi
rm -rf "$1"
`;

/**
 * Starts a guard for the processes of a demo in `dataDir`. Without a shell (Windows) nothing is
 * guarded.
 */
export function startGuard(dataDir: string): Guard {
  // A separate process session, so that ending the demo's group does not end the guard.
  const shell = spawn('/bin/sh', ['-c', GUARD_SCRIPT, 'holdfast-demo-guard', dataDir], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = new Promise<void>((resolve) => shell.once('exit', () => resolve()).once('error', () => resolve()));
  shell.stdin.on('error', () => {});
  // Neither keeps the demo alive. The pipe is a socket, which its type does not say.
  shell.unref();
  (shell.stdin as unknown as { unref: () => void }).unref();
  return {
    add: (pid) => void shell.stdin.write(`+ ${pid}\n`),
    remove: (pid) => void shell.stdin.write(`- ${pid}\n`),
    async release() {
      shell.ref();
      shell.stdin.end();
      await ended;
    },
  };
}
