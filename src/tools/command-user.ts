// The user that runs the commands of agents. Commands do what a model says, so where the service
// runs as root they run as a user without rights, which can access the workspace and none of the
// service's secrets. A service that runs as an ordinary user cannot change users: its commands can
// read what the service can read, and the start lines and the doctor say so. Planning only reads;
// `openWorkspace` changes owners.
import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { agentOf, ConfigError, processEnvironment, type Config } from '../config.ts';
import { DEFAULT_PROVIDER } from '../core/models.ts';
import { findAccount, canReach, closedFolderAbove, type Account, realPathOf } from '../config/places.ts';
import { FILE_VARIABLES } from '../config/process-environment.ts';
import { isAtOrBelow } from './sandbox/rules/policy.ts';

/** How the commands in one workspace run. */
export interface CommandPlan {
  /** The folder as the configuration writes it. */
  workspaceDir: string;
  /**
   * Its real path, taken once: commands start there, and the policy and the canary of the sandbox
   * are about it.
   */
  realDir: string;
  /** Null: as the user of the service. */
  user: Account | null;
  /** The nearest folder above the workspace that the user cannot enter; null: none. */
  closedBy: string | null;
}

/**
 * Where `placeWorkspaces` makes a folder for the workspaces of a data directory that their user
 * cannot enter.
 */
export const PLACES = '/var/lib/holdfast-workspaces';

/**
 * Used where `nobody` is the user of the database, which can read its password: a number that no
 * account has.
 */
const SPARE_UID = 65_533;
const NOBODY: Account = { name: 'nobody', uid: 65_534, gid: 65_534 };

/** The plan of a workspace. Throws `ConfigError` when `tools.exec.user` cannot be done. */
export function planCommands(config: Config, workspaceDir: string): CommandPlan {
  const configured = config.tools.exec.user;
  const self = process.getuid?.() ?? 0;
  if (configured !== undefined) return planFor(configuredUser(configured, self), config, workspaceDir);
  if (self !== 0 || process.getuid === undefined) return planFor(null, config, workspaceDir);
  const plan = planFor(defaultUser(config, workspaceDir), config, workspaceDir);
  // Most programs need the absolute path of the folder they run in, and a folder of root elsewhere
  // is not given away unasked: there, commands run as they always did.
  return plan.closedBy === null && !belongsToRootElsewhere(config, workspaceDir) ? plan : { ...plan, user: null };
}

/** True for a workspace that Holdfast has not made, and that belongs to root. */
function belongsToRootElsewhere(config: Config, workspaceDir: string): boolean {
  return !isOwn(config, workspaceDir) && readOwner(workspaceDir) === 0;
}

/** The plans of all agents, one for each workspace. */
export function planAllCommands(config: Config): CommandPlan[] {
  const folders = new Set(config.agents.list.map(({ id }) => agentOf(config, id).workspaceDir));
  return [...folders].map((folder) => planCommands(config, folder));
}

/** True for workspaces whose place Holdfast has chosen, and whose owner and mode it may change. */
export function isOwn(config: Config, workspaceDir: string): boolean {
  return isInDataDir(config, workspaceDir) || workspaceDir.startsWith(`${PLACES}/`);
}

/** By its path as written or by its real one: either may have links. */
export function isInDataDir(config: Config, path: string): boolean {
  const { dataDir } = config.runtime;
  return isBelow(resolve(path), resolve(dataDir)) || isBelow(realPathOf(path), realPathOf(dataDir));
}

function isBelow(path: string, folder: string): boolean {
  return path !== folder && isAtOrBelow(path, folder);
}

function planFor(user: Account | null, config: Config, workspaceDir: string): CommandPlan {
  const realDir = realPathOf(workspaceDir);
  if (user === null) return { workspaceDir, realDir, user, closedBy: null };
  // The data directory itself is opened to the user; only the folders above it matter.
  const dataDir = realPathOf(config.runtime.dataDir);
  const from = isBelow(realDir, dataDir) ? dataDir : realDir;
  return { workspaceDir, realDir, user, closedBy: closedFolderAbove(from, user) };
}

function configuredUser(nameOrUid: string | number, self: number): Account | null {
  const account = findAccount(nameOrUid);
  if (account === null) throw refusal(nameOrUid, 'the name or the numeric id of a user of this machine');
  if (account.uid === self) return null;
  if (self === 0) return account;
  throw refusal(
    nameOrUid,
    `only the user of the service (${self}), because only root can run commands as another user`,
  );
}

/**
 * The owner of the workspace, unless that is root; then `nobody`. Never the user of the embedded
 * database.
 */
function defaultUser(config: Config, workspaceDir: string): Account {
  const databaseUid = readOwner(join(config.runtime.dataDir, 'postgres'));
  const owner = readOwner(workspaceDir);
  const candidates = [owner === 0 || owner === null ? null : findAccount(owner), findAccount('nobody') ?? NOBODY];
  const spare = { name: `user ${SPARE_UID}`, uid: SPARE_UID, gid: SPARE_UID };
  return candidates.find((one) => one !== null && one.uid !== databaseUid) ?? spare;
}

function readOwner(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.uid ?? null;
}

function refusal(value: string | number, allowed: string): ConfigError {
  const message = `is ${JSON.stringify(value)}; allowed: ${allowed}`;
  return new ConfigError([{ path: 'tools.exec.user', value, allowed, message }]);
}

/**
 * The variables of the environment that name a user: programs keep their settings in the workspace,
 * because the user may have no home.
 */
export function homeOf(user: Account, workspaceDir: string): Record<string, string> {
  return { HOME: workspaceDir, USER: user.name, LOGNAME: user.name };
}

/**
 * One sentence for people: which user runs commands, and whether these can read the secrets of the
 * service.
 */
export function describeCommands(config: Config): string {
  if (!config.tools.exec.enabled) return 'none (tools.exec.enabled is false)';
  return [...new Set(planAllCommands(config).map((plan) => explainUser(config, plan)))].join('; ');
}

/** True when file permissions allow no command to read a secret of the service. */
export function areSecretsOutOfReach(config: Config): boolean {
  return (
    !config.tools.exec.enabled ||
    planAllCommands(config).every(({ user }) => user !== null && readableSecret(config, user) === null)
  );
}

function explainUser(config: Config, { user, closedBy, workspaceDir }: CommandPlan): string {
  if (user === null) {
    const why = process.getuid?.() === 0 ? rootReason(config, workspaceDir) : '';
    return `run as the user of the service and can read its secrets${why}`;
  }
  const secret = readableSecret(config, user);
  const reach = secret === null ? 'cannot read the secrets of the service' : `can read ${secret}, which holds secrets`;
  const path =
    closedBy === null
      ? describePlace(config, user, workspaceDir)
      : `; they can use only relative paths in the workspace, because "${user.name}" has no access to ${closedBy}`;
  return `run as ${user.name} and ${reach}${path}`;
}

/** Says where a workspace is that is not in the data directory because of its user. */
function describePlace(config: Config, user: Account, workspaceDir: string): string {
  if (!workspaceDir.startsWith(`${PLACES}/`)) return '';
  const closedBy = closedFolderAbove(realPathOf(config.runtime.dataDir), user);
  const why = closedBy === null ? '' : `, because "${user.name}" has no access to ${closedBy}`;
  return `; their workspace is ${workspaceDir}${why}`;
}

function rootReason(config: Config, workspaceDir: string): string {
  if (config.tools.exec.user !== undefined) return '';
  if (belongsToRootElsewhere(config, workspaceDir)) {
    return `, because ${workspaceDir} belongs to root; set tools.exec.user, or give the folder to another user`;
  }
  const { name, ...user } = defaultUser(config, workspaceDir);
  const closedBy = planFor({ name, ...user }, config, workspaceDir).closedBy;
  return `, because "${name}" has no access to ${closedBy}; set tools.exec.user, or move the data directory`;
}

/** The first file with secrets that the user can read; null: none. */
function readableSecret(config: Config, user: Account): string | null {
  const { dataDir } = config.runtime;
  const places = [
    ...listKeyFiles(config),
    join(dataDir, 'api-key'),
    join(dataDir, 'secrets'),
    join(dataDir, 'postgres', 'holdfast-password'),
    ...(hasSecretsInFile(config) ? listConfigFiles(config) : []),
  ];
  return places.find((path) => existsSync(path) && canReach(path, user)) ?? null;
}

/**
 * The files that hold the keys and tokens of the service, as the configuration and the environment
 * name them.
 */
export function listKeyFiles({ models, channels }: Config): string[] {
  const environment = processEnvironment();
  const variables = FILE_VARIABLES.map((name) => environment[`${name}_FILE`]?.trim());
  const keys = Object.values(models.providers).flatMap(({ keys: own = [] }) => own.map(({ file }) => file));
  const accounts = Object.values(channels.platforms).flatMap((platform) => Object.values(platform.accounts ?? {}));
  const paths = [...variables, ...keys, ...accounts.map(({ tokenFile }) => tokenFile)];
  return paths.flatMap((path) => (path ? [resolve(path)] : []));
}

/** The configuration file, and the copy that the tool `gateway` keeps beside it. */
export function listConfigFiles({ runtime: { configPath } }: Config): string[] {
  return configPath === null ? [] : [configPath, `${realPathOf(configPath)}.previous`];
}

function hasSecretsInFile({ models, channels, api, owner, runtime }: Config): boolean {
  const ofProviders = Object.entries(models.providers).flatMap(([name, { apiKey, keys = [], headers }]) => [
    // The keys of other providers may be of the environment.
    name !== DEFAULT_PROVIDER && Object.values(runtime).some((value) => value === apiKey) ? undefined : apiKey,
    ...keys.map(({ key, env, file }) => (env === undefined && file === undefined ? key : undefined)),
    ...Object.values(headers ?? {}),
  ]);
  const single = [...ofProviders, channels.webhook.secret, owner.displaySecret];
  return single.some((secret) => secret !== undefined) || api.keys.length > 0;
}
