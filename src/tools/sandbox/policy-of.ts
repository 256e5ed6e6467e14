// The policy of a workspace, or of a server of tools: what the configuration says, with the paths
// of this machine.
import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { agentOf, type Config } from '../../config.ts';
import { linksOnTheWay, realPathOf } from '../../config/places.ts';
import { isAtOrBelow, SYSTEM_PATHS, type HiddenPath, type SandboxPolicy } from './rules/policy.ts';
import { listConfigFiles, listKeyFiles, type CommandPlan } from '../command-user.ts';

/** What a program that runs as long as the service has beside its folder. */
export interface ServerAccess {
  /** Absolute paths; ones that do not exist are left out. */
  readable: readonly string[];
  /** Absolute, existing. */
  writable: readonly string[];
}

export interface PolicyPlace extends Pick<CommandPlan, 'workspaceDir' | 'realDir'> {
  /** Absent: commands run there. */
  server?: ServerAccess;
}

export function policyOf(
  config: Config,
  { workspaceDir, realDir, server }: PolicyPlace,
  proxySocket: string | null,
): SandboxPolicy {
  const { sandbox, runtime, agents, docs } = config;
  const { readable: named = [], writable = [] } = server ?? {};
  const read = [...sandbox.readable, ...(docs.enabled ? [docs.path] : []), ...named];
  const workspaces = agents.list.map(({ id }) => agentOf(config, id).workspaceDir);
  // Where the operator gives a server the workspace of an agent, or a file with a key, it is not
  // hidden.
  const given = new Set([realDir, ...[...named, ...writable].map(realPathOf)]);
  const others = [...workspaces, ...listKeyFiles(config), ...socketsIn(read)].map(realPathOf);
  const secret = [runtime.dataDir, ...listConfigFiles(config), ...others.filter((path) => !given.has(path))];
  const links = new Map([workspaceDir, ...read, ...writable].flatMap(linksOnTheWay).map((link) => [link.path, link]));
  return {
    workspaceDir: realDir,
    isReadOnly: server === undefined && sandbox.workspaceAccess === 'read-only',
    writable: writable.map(realPathOf),
    readable: read.map(realPathOf),
    hidden: secret.flatMap(hiddenPaths),
    links: [...links.values()],
    proxySocket,
    limits: server === undefined ? sandbox.limits : { ...sandbox.limits, cpuSeconds: Infinity },
    image: sandbox.image ?? null,
  };
}

/**
 * The folders of the system that are links, as `/lib` to `/usr/lib`: what is below them has two
 * names in the sandbox.
 */
const SYSTEM_LINKS = SYSTEM_PATHS.map((path) => ({ path, target: realPathOf(path) })).filter(
  ({ path, target }) => path !== target,
);

/**
 * All names that it has in the sandbox. What does not exist cannot be reached, and cannot be
 * covered.
 */
function hiddenPaths(path: string): HiddenPath[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  const real = realPathOf(path);
  const others = SYSTEM_LINKS.filter(({ target }) => isAtOrBelow(real, target));
  const names = [real, ...others.map((link) => link.path + real.slice(link.target.length))];
  return names.map((each) => ({ path: each, isFolder: found.isDirectory() }));
}

/**
 * The sockets in folders: what can be read could be connected to. The kernel lists those of the
 * machine by the paths that they were bound to.
 */
function socketsIn(folders: readonly string[]): string[] {
  // The eighth column; an abstract socket begins with @ there.
  const sockets = [...readFileSync('/proc/net/unix', 'utf8').matchAll(/^(?:\S+ +){7}(\/.*)$/gm)].map(
    ([, path = '']) => path,
  );
  const real = folders.map(realPathOf);
  const isRead = (folder: string): boolean => real.some((each) => isAtOrBelow(realPathOf(folder), each));
  const shown = new Set([...new Set(sockets.map((path) => dirname(path)))].filter(isRead));
  return sockets.filter((path) => shown.has(dirname(path)));
}
