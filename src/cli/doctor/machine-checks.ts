// The checks of this machine: Node, and the data directory with the key in it.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { agentOf, type Config } from '../../config.ts';
import { readHeartbeatFile } from '../../features/heartbeats/read-heartbeat-file.ts';
import { areSecretsOutOfReach } from '../../tools/command-user.ts';
import { sandboxStep } from '../../tools/sandbox/rules/sandbox-step.ts';
import { describeExec, sandboxOf } from '../../tools/sandbox/sandbox.ts';
import { isOfMachine } from '../../tools/sandbox/runtimes.ts';
import { isPlaceNeeded } from '../../tools/open-workspace.ts';
import { loadWorkspaceFiles } from '../../kernel/turn/open/load-workspace.ts';
import { failure, ok, explain, skipped, warning, type Finding } from './check.ts';

/** The tasks in HEARTBEAT.md of every polled agent. */
export async function heartbeatFinding(config: Config): Promise<Finding> {
  const agents = config.agents.list.map(({ id }) => agentOf(config, id)).filter(({ heartbeat }) => heartbeat.every > 0);
  if (!config.heartbeat.enabled || agents.length === 0) return ok('no agent is polled');
  const faults = await Promise.all(
    agents.map(async ({ id, workspaceDir }) => {
      try {
        const [file] = await loadWorkspaceFiles(workspaceDir, ['HEARTBEAT.md']);
        return readHeartbeatFile(file?.content ?? '').faults.map((fault) => `agent ${id}: ${fault}`);
      } catch (error) {
        return [`agent ${id}: ${explain(error)}`];
      }
    }),
  );
  if (faults.flat().length === 0) return ok('all of them can be read');
  return warning(faults.flat().join('; '), 'correct HEARTBEAT.md in the workspace of the agent');
}

/**
 * 22.18 is the first to run TypeScript as it is. `hasFlags`: a service that is started as this
 * process was has its flags of Node.
 */
export function nodeFinding(version: string, hasFlags: boolean): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 18))
    return failure(
      `${version} is too old`,
      'run "npm ci", which installs the required version on Linux, or install Node 24',
    );
  if (hasFlags) return ok(version);
  return warning(
    `${version}; a service cannot set its own flags here and needs more memory`,
    'set the flags in the command that starts Node: see docs/operations.md, "Node\'s flags"',
  );
}

const WEB_INDEX = join(import.meta.dirname, '../../../web/dist/index.html');

/** Without a build of the dashboard everything else works. */
export async function dashboardFinding(): Promise<Finding> {
  try {
    await access(WEB_INDEX, constants.R_OK);
    return ok('built');
  } catch {
    return warning('was not built', 'npm install && npm run build:web');
  }
}

export async function dataDirFinding({ runtime: { dataDir } }: Config): Promise<Finding> {
  const existing = await nearestExisting(dataDir);
  try {
    await access(existing, constants.W_OK | constants.X_OK);
    if (existing !== dataDir) return ok(`${dataDir} (does not exist yet; will be created)`);
    // A start tightens it, unless it belongs to another user or the file system has no modes.
    if (((await stat(dataDir)).mode & 0o007) === 0) return ok(dataDir);
    return warning(`${dataDir} is open to every user`, `chmod 700 ${dataDir}`);
  } catch (error) {
    return failure(
      `${existing} cannot be written: ${explain(error)}`,
      'give this user write access to it, or set HOLDFAST_DATA_DIR',
    );
  }
}

async function nearestExisting(path: string): Promise<string> {
  try {
    await stat(path);
    return path;
  } catch {
    return dirname(path) === path ? path : nearestExisting(dirname(path));
  }
}

/**
 * Commands that can read secrets, outside a sandbox, are not a fault if nothing else is configured,
 * but they are reported.
 */
export async function commandsFinding(config: Config): Promise<Finding> {
  try {
    if (isPlaceNeeded(config))
      return skipped('the first start decides where the workspaces are and which user runs commands');
    if (!isOfMachine(config.sandbox.runtime) && config.sandbox.runtime !== 'external')
      return skipped('only workers load the plugin that makes the sandbox; see GET /v1/sandbox');
    const sandbox = sandboxOf(config);
    const state = await sandbox.check();
    await sandbox.stop();
    const reason = describeExec(config, state);
    if (state.status === 'refused')
      return failure(reason, 'see "holdfast sandbox check", or set tools.exec.sandbox to "auto"');
    if (state.status === 'unknown') return skipped(reason);
    if (state.status === 'reduced') return warning(reason, sandboxStep(reason));
    if (state.status === 'on' || areSecretsOutOfReach(config)) return ok(reason);
    const fix =
      'start Holdfast as root with tools.exec.user, run it in a container, or set tools.exec.enabled to false';
    return warning(reason, fix);
  } catch (error) {
    return failure(explain(error), 'correct tools.exec.user');
  }
}

export async function keyFinding(config: Config): Promise<Finding> {
  if (config.runtime.apiKey !== undefined) return ok('from HOLDFAST_API_KEY');
  const path = join(config.runtime.dataDir, 'api-key');
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) === 0) return ok(path);
    return warning(`${path} can be read by other users`, `chmod 600 ${path}`);
  } catch {
    return ok(`${path} (does not exist yet; created at the first start)`);
  }
}
