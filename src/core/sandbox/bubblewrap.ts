// The arguments of bubblewrap for a policy. The order of the mounts decides: what comes later lies over what came before.
//
// The first process in the sandbox is a shell that waits for the command: when it ends, the kernel ends all that the command left running. It gets
// no TERM (nothing reaches the first process of a namespace but KILL), so a command that is ended still has its time to clean up.
import {
  isAtOrBelow,
  PROXY_PORT,
  SYSTEM_PATHS,
  type CommandLine,
  type HiddenPath,
  type SandboxPolicy,
} from './policy.ts';

/** File descriptor on which the first process says that the command has left processes running. */
export const LEFTOVERS_FD = 3;

/** Where the proxy's socket is in the sandbox. */
const SOCKET = '/tmp/.holdfast-proxy';
const SHM_BYTES = 67_108_864;

/** Starts the bridge to the proxy and waits until it listens. Ports are hexadecimal there. */
const BRIDGE = `socat TCP-LISTEN:${PROXY_PORT},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:${SOCKET} ${LEFTOVERS_FD}>&- & bridge=$!
until grep -q ':${PROXY_PORT.toString(16).toUpperCase().padStart(4, '0')} ' /proc/net/tcp; do kill -0 $bridge || exit 126; sleep 0.01; done
`;
/** What a shell says about a signal that ended its command is not output of the command. */
const RUN = `exec 4>&2 2>/dev/null\n(exec "$@" 2>&4 4>&- ${LEFTOVERS_FD}>&-); code=$?\n`;
const STOP_BRIDGE = 'kill $bridge; wait $bridge 2>/dev/null\n';
const TELL = `set -- /proc/[0-9]*; [ $# -eq 1 ] || echo left >&${LEFTOVERS_FD}\nexit $code`;

/** The words after `bwrap`. */
export function bubblewrapArguments(policy: SandboxPolicy, { argv, workdir }: CommandLine): string[] {
  const { proxySocket } = policy;
  const script = proxySocket === null ? RUN + TELL : BRIDGE + RUN + STOP_BRIDGE + TELL;
  return [
    ...'--unshare-all --unshare-user --disable-userns --as-pid-1'.split(' '),
    '--cap-drop',
    'ALL',
    ...mounts(policy),
    '--chdir',
    workdir,
    '--',
    '/bin/sh',
    '-c',
    script,
    'sh',
    ...limitArguments(policy),
    ...argv,
  ];
}

function mounts(policy: SandboxPolicy): string[] {
  const { workspaceDir, isReadOnly, writable, readable, hidden, proxySocket, limits } = policy;
  // Only what lies in a folder that can be read needs a lid: nothing else is there at all.
  const shown = [...SYSTEM_PATHS, ...readable, workspaceDir, ...writable];
  const covered = hidden.filter(({ path }) => shown.some((folder) => isAtOrBelow(path, folder)));
  const isInWorkspace = ({ path }: HiddenPath): boolean =>
    [workspaceDir, ...writable].some((folder) => isAtOrBelow(path, folder));
  return [
    ...SYSTEM_PATHS.flatMap((path) => ['--ro-bind-try', path, path]),
    ...'--proc /proc --dev /dev'.split(' '),
    ...tmpfs('/dev/shm', SHM_BYTES),
    ...'--remount-ro /dev'.split(' '),
    ...tmpfs('/tmp', limits.tmpBytes),
    ...'--symlink ../tmp /var/tmp'.split(' '),
    ...readable.flatMap((path) => ['--ro-bind-try', path, path]),
    ...covered.filter((each) => !isInWorkspace(each)).flatMap(cover),
    isReadOnly ? '--ro-bind' : '--bind',
    workspaceDir,
    workspaceDir,
    ...writable.flatMap((path) => ['--bind', path, path]),
    ...covered.filter(isInWorkspace).flatMap(cover),
    ...(proxySocket === null ? [] : ['--ro-bind', proxySocket, SOCKET]),
    ...'--remount-ro /'.split(' '),
  ];
}

/** An empty folder, or an empty file, in its place. */
function cover({ path, isFolder }: HiddenPath): string[] {
  return isFolder ? ['--perms', '0755', '--size', '4096', '--tmpfs', path] : ['--ro-bind', '/dev/null', path];
}

function tmpfs(path: string, bytes: number): string[] {
  return ['--perms', '1777', '--size', String(bytes), '--tmpfs', path];
}

/** `prlimit` counts bytes, which no shell's `ulimit` does in the same way. */
function limitArguments({ limits: { cpuSeconds, memoryBytes, processes, fileBytes } }: SandboxPolicy): string[] {
  const set = { cpu: cpuSeconds, data: memoryBytes, nproc: processes, fsize: fileBytes, core: 0 };
  const written = (value: number): string => (value === Infinity ? 'unlimited' : String(value));
  return ['prlimit', ...Object.entries(set).map(([name, value]) => `--${name}=${written(value)}`), '--'];
}
