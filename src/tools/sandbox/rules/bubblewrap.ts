// The arguments of bubblewrap for a policy. The order of the mounts decides: what comes later lies
// over what came before.
//
// The first process in the sandbox is a shell that waits for the command: when it ends, the kernel
// ends all that the command left running. It gets no TERM (nothing reaches the first process of a
// namespace but KILL), so a command that is ended still has its time to clean up.
import { NO_SOCAT } from './sandbox-step.ts';
import {
  listLinks,
  listMounts,
  PROXY_PORT,
  SYSTEM_PATHS,
  type CommandLine,
  type Mount,
  type MountKind,
  type SandboxPolicy,
} from './policy.ts';

/** File descriptor on which the first process says that the command has left processes running. */
export const LEFTOVERS_FD = 3;

/** Where the proxy's socket is in the sandbox. */
const SOCKET = '/tmp/.holdfast-proxy';
const SHM_BYTES = 67_108_864;

/** Starts the bridge to the proxy and waits until it listens. Ports are hexadecimal there. */
const BRIDGE = `command -v socat > /dev/null || { echo '${NO_SOCAT}' >&2; exit 126; }
socat TCP-LISTEN:${PROXY_PORT},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:${SOCKET} ${LEFTOVERS_FD}>&- & bridge=$!
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
  const { proxySocket, limits } = policy;
  return [
    ...SYSTEM_PATHS.flatMap((path) => ['--ro-bind-try', path, path]),
    ...'--proc /proc --dev /dev'.split(' '),
    ...tmpfs('/dev/shm', SHM_BYTES),
    ...'--remount-ro /dev'.split(' '),
    ...tmpfs('/tmp', limits.tmpBytes),
    ...'--symlink ../tmp /var/tmp'.split(' '),
    ...listMounts(policy, SYSTEM_PATHS).flatMap(([path, kind]) => MOUNTS[kind](path)),
    ...listLinks(policy, OWN_MOUNTS).flatMap(({ path, target }) => ['--symlink', target, path]),
    ...(proxySocket === null ? [] : ['--ro-bind', proxySocket, SOCKET]),
    ...'--remount-ro /'.split(' '),
  ];
}

/** Where there is something already. */
const OWN_MOUNTS: readonly Mount[] = [
  ...[...SYSTEM_PATHS, '/proc', '/dev'].map((path) => [path, 'read'] as const),
  ['/tmp', 'empty-folder'],
  ['/var/tmp', 'empty-folder'],
];

const MOUNTS: Record<MountKind, (path: string) => string[]> = {
  read: (path) => ['--ro-bind-try', path, path],
  write: (path) => ['--bind', path, path],
  'empty-folder': (path) => ['--perms', '0755', '--size', '4096', '--tmpfs', path],
  'empty-file': (path) => ['--ro-bind', '/dev/null', path],
};

function tmpfs(path: string, bytes: number): string[] {
  return ['--perms', '1777', '--size', String(bytes), '--tmpfs', path];
}

/** `prlimit` counts bytes, which no shell's `ulimit` does in the same way. */
function limitArguments({ limits: { cpuSeconds, memoryBytes, processes, fileBytes } }: SandboxPolicy): string[] {
  const set = { cpu: cpuSeconds, data: memoryBytes, nproc: processes, fsize: fileBytes, core: 0 };
  const written = (value: number): string => (value === Infinity ? 'unlimited' : String(value));
  return ['prlimit', ...Object.entries(set).map(([name, value]) => `--${name}=${written(value)}`), '--'];
}
