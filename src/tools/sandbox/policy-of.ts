// The policy of a workspace: what the configuration says, with the paths of this machine.
import { realpathSync, statSync } from 'node:fs';
import { agentOf, type Config } from '../../config.ts';
import type { HiddenPath, SandboxPolicy } from '../../core/sandbox/policy.ts';

export function policyOf(config: Config, workspaceDir: string, proxySocket: string | null): SandboxPolicy {
  const { sandbox, runtime, agents, docs } = config;
  const others = agents.list.map(({ id }) => agentOf(config, id).workspaceDir).filter((path) => path !== workspaceDir);
  const secret = [runtime.dataDir, ...(runtime.configPath === null ? [] : [runtime.configPath]), ...others];
  return {
    workspaceDir: realPath(workspaceDir),
    isReadOnly: sandbox.workspaceAccess === 'read-only',
    readable: [...sandbox.readable, ...(docs.enabled ? [docs.path] : [])].map(realPath),
    hidden: secret.flatMap(hiddenPath),
    proxySocket,
    limits: sandbox.limits,
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
