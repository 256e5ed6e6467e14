// `holdfast start`: runs the service and ends it well. The first signal drains; a second one, a
// second or more later, ends immediately; a drain that takes longer than `shutdown.graceMs` is
// abandoned, because the next process can resume everything that it waits for. Threads that hang do
// not keep the process.
import { existsSync, rmSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { Role } from '../../kernel/process-part.ts';
import { ensureApiKey, LiveConfig, type Config, loadConfigWithSources, secretsOf, type Setting } from '../../config.ts';
import { API_URL_FILE } from '../../config/process-environment.ts';
import { workspacesFolderOf } from '../../config/places.ts';
import { logConsoleWarnings } from '../console-warnings.ts';
import { LOG_FOLDER, LogFiles, createLogger, type Logger } from '../../logger.ts';
import { holdPort, type HeldPort } from '../../network/hold-port.ts';
import { reloadConfig } from '../../kernel/use-cases/record-change.ts';
import { placeWorkspaces } from '../../tools/open-workspace.ts';
import { EXIT, usageError, type ExitCode } from '../cli-error.ts';
import { endProcess } from '../end-process.ts';
import { explainStartFault } from '../explain-start-fault.ts';
import type { Terminal } from '../terminal.ts';

const ROLES: readonly Role[] = ['api', 'worker', 'scheduler'];

/**
 * npm forwards Ctrl-C to a process that the terminal has already signalled: a second signal within
 * this time is the same one.
 */
const SAME_SIGNAL_MS = 500;

const SIGNAL_EXITS = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.terminated } as const;
type StopSignal = keyof typeof SIGNAL_EXITS;

/**
 * Runs until a signal has drained it; resolves with 0, or with 1 when the drain did not end in
 * time.
 */
export async function runStart(options: { roles: string; migrate: boolean }, terminal: Terminal): Promise<ExitCode> {
  const roles = parseRoles(options.roles);
  const { config, service, logger, stop } = await startOrExplain({ ...options, roles });
  const urlFile = join(config.runtime.dataDir, API_URL_FILE);
  if (service.url !== null) await publishUrl(urlFile, service.url, logger);
  for (const line of service.lines) terminal.print(line);
  logger.info({ url: service.url, ...service.facts }, 'Started');
  // A service that is killed would otherwise never store what it compiled.
  flushCompileCache();
  const signal = await Promise.race([stop, service.drainRequested.then(() => 'request' as const)]);
  if (signal === 'request') logger.info({ signal }, 'Draining, as requested through the API');
  const isDrained = await drainInTime(service, { graceMs: config.shutdown.graceMs, logger });
  // Without a thread: all of them may hang.
  if (service.url !== null) rmSync(urlFile, { force: true });
  if (isDrained) logger.info({ signal }, 'Drained');
  // An open socket or timer must not keep a drained process alive.
  return await endProcess(isDrained ? EXIT.ok : EXIT.failed);
}

function openConfig(): LiveConfig {
  try {
    return new LiveConfig(() => loadConfigWithSources());
  } catch (error) {
    throw explainStartFault(error);
  }
}

/** The key of the API is made here, before anything can log it. */
async function openLog(live: LiveConfig, roles: readonly Role[]): Promise<Logger> {
  const { config } = live;
  const { logLevel: level, logFormat: format, logFiles, dataDir } = config.runtime;
  const keys = roles.includes('api') ? [(await ensureApiKey(config)).key] : [];
  let secrets = [...secretsOf(config), ...keys];
  // Secrets that are replaced stay out of the log, too.
  live.follow({
    prepare(next) {
      secrets = [...new Set([...secrets, ...secretsOf(next)])];
    },
  });
  const files = logFiles === null ? undefined : new LogFiles(join(dataDir, LOG_FOLDER), logFiles);
  return createLogger({ level, format, name: 'holdfast', role: roles.join(','), secrets: () => secrets, files });
}

/**
 * Stores the address where the command line reads it. Only a convenience: a data directory that
 * cannot be written stops nothing.
 */
async function publishUrl(file: string, url: string, logger: Logger): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${url}\n`);
  } catch (error) {
    logger.warn({ err: error, file }, 'Address of the service could not be stored; pass --url to the command line');
  }
}

/**
 * The port comes first: if it is in use, nothing is made. A data directory that this start has made
 * does not outlive its failure.
 */
async function startOrExplain({ roles, migrate }: { roles: readonly Role[]; migrate: boolean }) {
  let live = openConfig();
  const { dataDir, databaseUrl } = live.config.runtime;
  const isNew = databaseUrl === undefined && !existsSync(dataDir);
  try {
    const heldPort = await holdAddress(live.config, roles);
    if (await placeWorkspaces(live.config)) live = openConfig();
    const logger = await openLog(live, roles);
    logConsoleWarnings(logger);
    // A reload waits until every part follows the configuration.
    const { promise: isStarted, resolve: started } = Promise.withResolvers<void>();
    const stop = stopSignal(logger, () => void isStarted.then(() => reloadConfig(live, logger)).catch(() => undefined));
    // The service keeps running when the reader of its output has ended.
    process.stdout.removeAllListeners('error').on('error', () => undefined);
    const { startService } = await import('../../../workers/start-service.ts');
    const flags = settingsOfFlags(roles, migrate);
    const service = await startService({ live, flags, roles, migrate, logger, heldPort });
    started();
    return { config: live.config, service, logger, stop };
  } catch (error) {
    // A database that another process uses is still there.
    if (isNew && !existsSync(join(dataDir, 'postgres'))) await removeDataDir(dataDir).catch(() => undefined);
    throw explainStartFault(error);
  }
}

/** With the workspaces that were placed outside. */
async function removeDataDir(dataDir: string): Promise<void> {
  for (const path of [workspacesFolderOf(dataDir), dataDir]) await rm(path, { recursive: true, force: true });
}

/** Holds the port of the API, or of the metrics in a process without it. */
function holdAddress({ runtime }: Config, roles: readonly Role[]): Promise<HeldPort> {
  const { host, port, metricsPort } = runtime;
  return holdPort({ host, port: roles.includes('api') ? port : (metricsPort ?? 0) });
}

/** The options of the command, as settings. One that repeats its default counts as the default. */
function settingsOfFlags(roles: readonly Role[], migrate: boolean): Setting[] {
  const flag = (name: string, value: unknown, at: string | null): Setting => ({
    path: `start.${name}`,
    value,
    isSecret: false,
    source: at === null ? 'default' : 'command line',
    at,
  });
  return [
    flag('roles', roles, roles.length === ROLES.length ? null : '--roles'),
    flag('migrate', migrate, migrate ? null : '--no-migrate'),
  ];
}

function parseRoles(text: string): readonly Role[] {
  const names = text.split(',').map((name) => name.trim());
  const roles = ROLES.filter((role) => names.includes(role));
  const unknown = names.filter((name) => !ROLES.some((role) => role === name));
  if (unknown.length === 0) return roles;
  throw usageError(
    `${unknown.map((name) => JSON.stringify(name)).join(', ')} is not a role`,
    `use one or more of ${ROLES.join(',')}, separated by commas`,
    'unknown_role',
  );
}

/** Resolves at the first signal that stops. From then on a second one ends the process. */
function stopSignal(logger: Logger, reload: () => void): Promise<StopSignal> {
  const { promise, resolve } = Promise.withResolvers<StopSignal>();
  let firstAtMs: number | undefined;
  const onSignal = (signal: StopSignal) => {
    const nowMs = performance.now();
    if (firstAtMs === undefined) {
      firstAtMs = nowMs;
      logger.info({ signal }, 'Draining; send a second signal to end the process immediately');
      resolve(signal);
    } else if (nowMs - firstAtMs > SAME_SIGNAL_MS) {
      logger.warn({ signal }, 'Process ended without draining');
      void endProcess(SIGNAL_EXITS[signal]);
    }
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  process.on('SIGHUP', () => {
    if (firstAtMs !== undefined) return;
    // A terminal that is closed sends it, some shells twice: it drains, and never ends immediately.
    if (hasTerminal()) onSignal('SIGHUP');
    else reload();
  });
  return promise;
}

/** Standard input does not say it alone: `relaunch.ts` may have replaced it. */
function hasTerminal(): boolean {
  return [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
}

/** False when the drain failed or took too long; why is logged. */
async function drainInTime(
  service: { drain(): Promise<void> },
  { graceMs, logger }: { graceMs: number; logger: Logger },
): Promise<boolean> {
  const { promise: isLate, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => {
    logger.error({ graceMs }, 'Drain did not end in time; the next process resumes the open turns');
    resolve(false);
  }, graceMs);
  const isDrained = service.drain().then(
    () => true,
    (error: unknown) => {
      logger.error({ err: error }, 'Drain failed; the next process resumes the open turns');
      return false;
    },
  );
  const result = await Promise.race([isDrained, isLate]);
  clearTimeout(timer);
  return result;
}
