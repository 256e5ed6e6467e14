// The policy of a workspace, or of a server of tools: what the configuration says, with the paths of this machine.
import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { agentOf, type Config } from '../../config.ts';
import { isAtOrBelow, SYSTEM_PATHS, type HiddenPath, type SandboxPolicy } from '../../core/sandbox/policy.ts';
import { listConfigFiles, listKeyFiles } from '../command-user.ts';

/** What a program that runs as long as the service has beside its folder. */
export interface ServerAccess {
  /** Absolute paths; ones that do not exist are left out. */
  readable: readonly string[];
  /** Absolute, existing. */
  writable: readonly string[];
}

export interface PolicyPlace {
  workspaceDir: string;
  /** Absent: commands run there. */
  server?: ServerAccess;
}

export function policyOf(
  config: Config,
  { workspaceDir, server }: PolicyPlace,
  proxySocket: string | null,
): SandboxPolicy {
  const { sandbox, runtime, agents, docs } = config;
  const [named, writable] = [server?.readable ?? [], (server?.writable ?? []).map(realPath)];
  const readable = [...sandbox.readable, ...(docs.enabled ? [docs.path] : []), ...named].map(realPath);
  const workspaces = agents.list.map(({ id }) => agentOf(config, id).workspaceDir);
  // Where the operator gives a server the workspace of an agent, or a file with a key, it is not hidden.
  const given = [workspaceDir, ...named, ...(server?.writable ?? [])];
  const others = [...workspaces, ...listKeyFiles(config)].filter((path) => !given.includes(path));
  const secret = [runtime.dataDir, ...listConfigFiles(config), ...others];
  return {
    workspaceDir: realPath(workspaceDir),
    isReadOnly: server === undefined && sandbox.workspaceAccess === 'read-only',
    writable,
    readable: [...readable, ...linksToFiles(named, [...SYSTEM_PATHS, ...readable, ...writable])],
    hidden: secret.flatMap(hiddenPath),
    proxySocket,
    limits: server === undefined ? sandbox.limits : { ...sandbox.limits, cpuSeconds: Infinity },
    image: sandbox.image ?? null,
  };
}

/** What does not exist cannot be reached, and cannot be covered. */
function hiddenPath(path: string): HiddenPath[] {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? [] : [{ path: realPath(path), isFolder: found.isDirectory() }];
}

/** The names by which files are opened that are links, as those of Kubernetes' secrets are, where no folder shows them. */
function linksToFiles(paths: readonly string[], shown: readonly string[]): string[] {
  return paths
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
    .map((path) => join(realPath(dirname(path)), basename(path)))
    .filter((path) => !shown.some((folder) => isAtOrBelow(path, folder)));
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
