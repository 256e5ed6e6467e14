// The arguments of docker and podman for a policy: a container for each command, of an image that
// the operator has made.
import { NO_SOCAT_IN_IMAGE } from './sandbox-step.ts';
import {
  isAtOrBelow,
  isShown,
  kindAt,
  listLinks,
  listMounts,
  PROXY_PORT,
  type CommandLine,
  type Mount,
  type MountKind,
  type SandboxPolicy,
} from './policy.ts';

export interface ContainerCommand extends CommandLine {
  /** The user that runs it, as on the machine: what it writes into the workspace belongs to it. */
  user: { uid: number; gid: number };
  environment: Readonly<Record<string, string>>;
}

/**
 * Where the proxy's socket is in the container, and the pipe that tells it that its client has
 * ended.
 */
const SOCKET = '/tmp/.holdfast-proxy';
const LIFE = '/tmp/.holdfast-life';

/**
 * Runs the client of the engine (`$1 run ...`). A container lives on when its client is killed, so
 * a process of the client's group holds a pipe open that the container reads: when the group is
 * gone, the container ends itself. Only KILL ends that process.
 */
const OUTSIDE = `folder=$(mktemp -d) && mkfifo -m 644 "$folder/life" || exit 126
exec 7<&0
(trap '' TERM INT HUP; exec sleep infinity > "$folder/life" 7<&-) & held=$!
trap : TERM INT HUP
program=$1; shift 2
"$program" run "--mount=type=bind,source=$folder/life,target=${LIFE},readonly" "$@" <&7 7<&- & client=$!
wait $client; code=$?
while kill -0 $client 2>/dev/null; do wait $client; code=$?; done
kill -KILL $held; rm -r "$folder"; exit $code`;
const INSIDE = `exec 6< ${LIFE}; (read -r _ <&6; kill -KILL -1) & exec 6<&-
`;
const BRIDGE = `command -v socat > /dev/null || { echo '${NO_SOCAT_IN_IMAGE}' >&2; exit 126; }
socat TCP-LISTEN:${PROXY_PORT},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:${SOCKET} & sleep 0.1
`;

/** The command line of a command: it runs as the user of the service, which may use the engine. */
export function containerCommand(program: string, policy: SandboxPolicy, command: ContainerCommand): string[] {
  return ['/bin/sh', '-c', OUTSIDE, 'sh', program, ...containerArguments(program, policy, command)];
}

/**
 * The words after `program`, which is docker or podman. The environment is named, not written:
 * values do not appear in lists of processes. Only the home is written: the client must not read
 * settings from the workspace, where the agent could write them.
 */
export function containerArguments(program: string, policy: SandboxPolicy, command: ContainerCommand): string[] {
  const { workspaceDir, proxySocket, limits, image } = policy;
  const { cpuSeconds, memoryBytes, processes, fileBytes, tmpBytes } = limits;
  return [
    ...'run --rm --interactive --init --network=none --read-only --cap-drop=ALL --security-opt=no-new-privileges'.split(
      ' ',
    ),
    `--user=${command.user.uid}:${command.user.gid}`,
    `--tmpfs=/tmp:rw,size=${tmpBytes},mode=1777`,
    // Podman would make a /run that can be written.
    '--tmpfs=/run:ro,size=4096',
    // Engines mount outer paths first, in whichever order they are named.
    ...listMounts(policy).map(([path, kind]) => MOUNTS[kind](path, program)),
    ...linkMounts(policy),
    ...(proxySocket === null ? [] : [`${bind(proxySocket, SOCKET)},readonly`]),
    `--ulimit=cpu=${cpuSeconds === Infinity ? -1 : cpuSeconds}`,
    `--ulimit=fsize=${fileBytes}`,
    `--memory=${memoryBytes}`,
    `--pids-limit=${processes}`,
    ...Object.keys(command.environment).flatMap((name) => ['--env', name === 'HOME' ? `HOME=${workspaceDir}` : name]),
    `--workdir=${command.workdir}`,
    image ?? '',
    '/bin/sh',
    '-c',
    `${INSIDE}${proxySocket === null ? '' : BRIDGE}exec "$@"`,
    'sh',
    ...command.argv,
  ];
}

/** Where there is something already. */
const OWN_MOUNTS: readonly Mount[] = [
  ...['/proc', '/sys', '/dev'].map((path) => [path, 'read'] as const),
  ['/tmp', 'empty-folder'],
  ['/run', 'empty-folder'],
];

/**
 * Engines make no links: what one leads to is mounted at its name, too, unless a part of that is
 * covered.
 */
function linkMounts(policy: SandboxPolicy): string[] {
  const mounts = listMounts(policy);
  return listLinks(policy, OWN_MOUNTS).flatMap(({ path, target }) => {
    const kind = kindAt(target, mounts);
    const isCovered = mounts.some(([other, cover]) => isAtOrBelow(other, target) && !isShown(cover));
    if (!isShown(kind) || isCovered) return [];
    return [`${bind(target, path)}${kind === 'write' ? '' : ',readonly'}`];
  });
}

const MOUNTS: Record<MountKind, (path: string, program: string) => string> = {
  read: (path) => `${bind(path, path)},readonly`,
  write: (path) => bind(path, path),
  // Podman would copy what it covers into it.
  'empty-folder': (path, program) => `--tmpfs=${path}:ro,size=4096${program.endsWith('podman') ? ',notmpcopyup' : ''}`,
  'empty-file': (path) => `${bind('/dev/null', path)},readonly`,
};

/** A comma would begin the next option of a mount: such a path cannot be mounted. */
function bind(source: string, target: string): string {
  if (target.includes(','))
    throw new RangeError(`${target} has a comma, with which it cannot be mounted into a container`);
  return `--mount=type=bind,source=${source},target=${target}`;
}
