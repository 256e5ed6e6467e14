// The arguments of docker and podman for a policy: a container for each command, of an image that the operator has made.
import { PROXY_PORT, type CommandLine, type SandboxPolicy } from './policy.ts';

export interface ContainerCommand extends CommandLine {
  /** The user that runs it, as on the machine: what it writes into the workspace belongs to it. */
  user: { uid: number; gid: number };
  environment: Readonly<Record<string, string>>;
}

/** Where the proxy's socket is in the container. */
const SOCKET = '/tmp/.holdfast-proxy';
const BRIDGE = `socat TCP-LISTEN:${PROXY_PORT},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:${SOCKET} & sleep 0.1; exec "$@"`;

/** The words after `docker` or `podman`. The environment is named, not written: values do not appear in lists of processes. */
export function containerArguments(policy: SandboxPolicy, command: ContainerCommand): string[] {
  const { workspaceDir, isReadOnly, readable, hidden, proxySocket, limits, image } = policy;
  const { cpuSeconds, memoryBytes, processes, fileBytes, tmpBytes } = limits;
  const mounts = [
    ...readable.map((path) => bind(path, 'ro')),
    bind(workspaceDir, isReadOnly ? 'ro' : 'rw'),
    ...(proxySocket === null ? [] : [`type=bind,source=${proxySocket},target=${SOCKET},readonly`]),
  ];
  const covered = hidden.filter(
    ({ path, isFolder }) => isFolder && readable.some((folder) => path.startsWith(`${folder}/`)),
  );
  return [
    ...'run --rm --interactive --init --network=none --read-only --cap-drop=ALL --security-opt=no-new-privileges'.split(
      ' ',
    ),
    `--user=${command.user.uid}:${command.user.gid}`,
    `--tmpfs=/tmp:rw,size=${tmpBytes},mode=1777`,
    ...covered.map(({ path }) => `--tmpfs=${path}:ro,size=4096`),
    ...mounts.map((mount) => `--mount=${mount}`),
    `--ulimit=cpu=${cpuSeconds}`,
    `--ulimit=fsize=${fileBytes}`,
    `--memory=${memoryBytes}`,
    `--pids-limit=${processes}`,
    ...Object.keys(command.environment).flatMap((name) => ['--env', name]),
    `--workdir=${command.workdir}`,
    image ?? '',
    ...(proxySocket === null ? [] : ['/bin/sh', '-c', BRIDGE, 'sh']),
    ...command.argv,
  ];
}

/** A comma would begin the next option of a mount: such a path cannot be mounted. */
function bind(path: string, mode: 'ro' | 'rw'): string {
  if (path.includes(',')) throw new RangeError(`${path} has a comma, with which it cannot be mounted into a container`);
  return `type=bind,source=${path},target=${path}${mode === 'ro' ? ',readonly' : ''}`;
}
