// What a command of an agent may reach: said once, as data, for every runtime. A runtime turns it
// into the arguments of its program.

/** Limits of a command. */
export interface SandboxLimits {
  /** The limit of each process. Infinite for a program that runs as long as the service. */
  cpuSeconds: number;
  /** The memory that each process may write to. */
  memoryBytes: number;
  /** Processes and threads of the command together. Linux exempts root. */
  processes: number;
  /** The limit of each file. */
  fileBytes: number;
  /** The limit of its private /tmp. */
  tmpBytes: number;
}

export interface SandboxPolicy {
  /** Its real path; the folder of the machine that it may write, and its home. */
  workspaceDir: string;
  isReadOnly: boolean;
  /** Real paths of further folders that it may write. */
  writable: readonly string[];
  /** Real paths that it can read, besides the folders of the system. */
  readable: readonly string[];
  /** Real paths that it must not reach, even below one that it can read. */
  hidden: readonly HiddenPath[];
  /**
   * Links by which the configuration names what it can reach: the real path of their folder with
   * their name, and the real path that they lead to.
   */
  links: readonly { path: string; target: string }[];
  /** The socket of the proxy through which it reaches the network; null: there is no network. */
  proxySocket: string | null;
  limits: SandboxLimits;
  /** The image of a container; null: the runtime needs none. */
  image: string | null;
}

export interface HiddenPath {
  path: string;
  isFolder: boolean;
}

/** A command with its arguments, its first one the program. */
export interface CommandLine {
  argv: readonly string[];
  /** Absolute. */
  workdir: string;
}

/**
 * What a command can always read: programs and libraries, and of /etc what they need. The rest of
 * /etc may be configuration with secrets.
 */
export const SYSTEM_PATHS: readonly string[] = [
  ...'usr bin sbin lib lib32 lib64 libx32 nix/store'.split(' ').map((name) => `/${name}`),
  ...(
    'alternatives bash.bashrc ca-certificates ca-certificates.conf crypto-policies debian_version fonts gai.conf gitconfig group hosts inputrc ' +
    'ld.so.cache ld.so.conf ld.so.conf.d locale.alias localtime magic mime.types nsswitch.conf os-release passwd perl pki profile protocols ' +
    'python3 resolv.conf services shells ssl terminfo timezone'
  )
    .split(' ')
    .map((name) => `/etc/${name}`),
];

/**
 * What is at a path in the sandbox: what the machine has there, or an empty folder or file that
 * covers it.
 */
export type MountKind = 'read' | 'write' | 'empty-folder' | 'empty-file';

export type Mount = readonly [path: string, kind: MountKind];

/**
 * The mounts of a policy, one for each path, outer ones first: each lies over those that it is in.
 * `systemPaths` can be read anyway.
 */
export function listMounts(
  { workspaceDir, isReadOnly, writable, readable, hidden }: SandboxPolicy,
  systemPaths: readonly string[] = [],
): Mount[] {
  const written = [workspaceDir, ...writable];
  const shown = [...systemPaths, ...readable, ...written];
  const isIn = (path: string, folders: readonly string[]) => folders.some((folder) => isAtOrBelow(path, folder));
  const mounts = new Map<string, MountKind>([
    // What lies in a folder that can be written can be written, too.
    ...readable.filter((path) => !isIn(path, written)).map((path) => [path, 'read'] as const),
    [workspaceDir, isReadOnly ? 'read' : 'write'],
    ...writable.map((path) => [path, 'write'] as const),
    // Only what lies in a folder that is shown needs a cover: nothing else is there at all.
    ...hidden
      .filter(({ path }) => isIn(path, shown))
      .map(({ path, isFolder }) => [path, isFolder ? 'empty-folder' : 'empty-file'] as const),
  ]);
  return [...mounts].toSorted(([one], [other]) => one.length - other.length);
}

/**
 * The links of a policy that a runtime with these `own` mounts has to make: those that no folder
 * shows, and where nothing else is mounted at or below them.
 */
export function listLinks(policy: SandboxPolicy, own: readonly Mount[]): SandboxPolicy['links'] {
  const mounts = [...own, ...listMounts(policy)];
  return policy.links.filter(
    ({ path }) => !isShown(kindAt(path, mounts)) && !mounts.some(([other]) => isAtOrBelow(other, path)),
  );
}

/** What the innermost mount around a path is; undefined: nothing is there. */
export function kindAt(path: string, mounts: readonly Mount[]): MountKind | undefined {
  const around = mounts.filter(([outer]) => isAtOrBelow(path, outer));
  return around.toSorted(([one], [other]) => one.length - other.length).at(-1)?.[1];
}

export function isShown(kind: MountKind | undefined): boolean {
  return kind === 'read' || kind === 'write';
}

/** Where a command that may reach hosts finds the proxy. */
export const PROXY_PORT = 3128;

/**
 * Of the service's variables, the ones that say how text and programs are found; all else stays
 * outside.
 */
const KEPT = /^(?:PATH|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|USER|LOGNAME|HOLDFAST_IDEMPOTENCY_KEY)$/;

/** The environment of a command in a sandbox. Its home is the workspace. */
export function sandboxEnvironment(
  environment: Readonly<Record<string, string>>,
  { workspaceDir, proxySocket }: Pick<SandboxPolicy, 'workspaceDir' | 'proxySocket'>,
): Record<string, string> {
  const kept = Object.fromEntries(Object.entries(environment).filter(([name]) => KEPT.test(name)));
  return { ...kept, HOME: workspaceDir, ...(proxySocket === null ? {} : proxyVariables()) };
}

function proxyVariables(): Record<string, string> {
  const url = `http://127.0.0.1:${PROXY_PORT}`;
  const names = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];
  return { ...Object.fromEntries(names.map((name) => [name, url])), NODE_USE_ENV_PROXY: '1' };
}

/**
 * True when the list names the host: alone, with its port, `*.example.com` for all below it, or `*`
 * for all.
 */
export function isHostAllowed({ host, port }: { host: string; port: number }, allowed: readonly string[]): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return allowed.some((each) => {
    const entry = each.toLowerCase();
    if (entry === '*' || entry === name || entry === `${name}:${port}`) return true;
    return entry.startsWith('*.') && name.endsWith(entry.slice(1));
  });
}

/** True for the path itself and for all below it. */
export function isAtOrBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}
