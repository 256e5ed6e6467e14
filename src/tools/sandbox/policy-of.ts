// The policy of a workspace, or of a server of tools: what the configuration says, with the paths of this machine.
import { realpathSync, statSync } from 'node:fs';
import { agentOf, type Config } from '../../config.ts';
import type { HiddenPath, SandboxPolicy } from '../../core/sandbox/policy.ts';

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
  const [readable, writable] = [server?.readable ?? [], server?.writable ?? []];
  // Where the operator gives a server the workspace of an agent, it is not hidden.
  const given = [workspaceDir, ...readable, ...writable];
  const others = agents.list.map(({ id }) => agentOf(config, id).workspaceDir).filter((path) => !given.includes(path));
  const secret = [runtime.dataDir, ...(runtime.configPath === null ? [] : [runtime.configPath]), ...others];
  return {
    workspaceDir: realPath(workspaceDir),
    isReadOnly: server === undefined && sandbox.workspaceAccess === 'read-only',
    writable: writable.map(realPath),
    readable: [...sandbox.readable, ...(docs.enabled ? [docs.path] : []), ...readable].map(realPath),
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

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
