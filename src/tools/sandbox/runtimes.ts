// The programs that make sandboxes: bubblewrap, docker or podman, or one of a plugin.
import { accessSync, constants, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { processEnvironment } from '../../config.ts';
import { bubblewrapArguments } from './rules/bubblewrap.ts';
import { containerCommand } from './rules/container.ts';
import { NO_BUBBLEWRAP } from './rules/sandbox-step.ts';
import type { SandboxLimits } from './rules/policy.ts';
import type { SandboxRuntime } from './port.ts';

/** The runtime of that name, or why there is none. */
export function findRuntime(name: string, ofPlugins: readonly SandboxRuntime[]): SandboxRuntime | string {
  if (name === 'bubblewrap') {
    const program = findProgram('bwrap');
    if (program === null) return NO_BUBBLEWRAP;
    return {
      name,
      wrap: (policy, { environment, ...command }) => ({
        argv: [program, ...bubblewrapArguments({ ...policy, limits: withinOwn(policy.limits) }, command)],
        environment,
      }),
    };
  }
  if (name === 'container') {
    const program = findProgram('docker') ?? findProgram('podman');
    if (program === null) return 'neither docker nor podman is on the PATH';
    const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()];
    return {
      name,
      wrap: (policy, { user, environment, ...command }) => ({
        argv: containerCommand(program, policy, { ...command, environment, user: user ?? { uid, gid } }),
        environment: { ...environment, ...clientEnvironment() },
        isOfService: true,
      }),
    };
  }
  return (
    ofPlugins.find((each) => each.name === name) ??
    `no plugin has registered the runtime ${JSON.stringify(name)} in this process`
  );
}

/** True for the runtimes that every process finds, if the machine has them. */
export function isOfMachine(runtime: string): boolean {
  return runtime === 'bubblewrap' || runtime === 'container';
}

/**
 * Without capabilities, a limit can only become lower than that of this process: where that is
 * lower already, it counts.
 */
function withinOwn(limits: SandboxLimits): SandboxLimits {
  const own = readFileSync('/proc/self/limits', 'utf8');
  const within = (value: number, name: string): number => {
    const [, hard = ''] = new RegExp(`^Max ${name} +\\S+ +(\\d+)`, 'm').exec(own) ?? [];
    return hard === '' ? value : Math.min(value, Number(hard));
  };
  return {
    ...limits,
    cpuSeconds: within(limits.cpuSeconds, 'cpu time'),
    memoryBytes: within(limits.memoryBytes, 'data size'),
    processes: within(limits.processes, 'processes'),
    fileBytes: within(limits.fileBytes, 'file size'),
  };
}

/** What the client of an engine needs of the service: where the engine is, and its own settings. */
function clientEnvironment(): Record<string, string> {
  const own = processEnvironment();
  const names = ['HOME', 'XDG_RUNTIME_DIR', 'DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG', 'CONTAINER_HOST'];
  return Object.fromEntries(names.map((name) => [name, own[name] ?? '']).filter(([, value]) => value !== ''));
}

/** The path of a program, which is a path itself or a name on the PATH; null: there is none. */
export function findProgram(name: string): string | null {
  const folders = (processEnvironment()['PATH'] ?? '').split(':').filter(isAbsolute);
  const isProgram = (path: string): boolean => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  };
  const paths = name.includes('/') ? [name] : folders.map((folder) => join(folder, name));
  return paths.find(isProgram) ?? null;
}
