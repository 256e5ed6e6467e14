// `holdfast doctor`: checks all dependencies of Holdfast, changes nothing, and says how to repair
// faults.
import { loadConfig, ConfigError, type Config } from '../../config.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { failure, ok, type Check, type Finding } from '../doctor/check.ts';
import { channelChecks } from '../../features/channels/doctor-checks.ts';
import { databaseChecks } from '../doctor/database-checks.ts';
import {
  commandsFinding,
  dashboardFinding,
  dataDirFinding,
  heartbeatFinding,
  keyFinding,
  nodeFinding,
} from '../doctor/machine-checks.ts';
import { redisFinding } from '../doctor/redis-checks.ts';
import { modelFinding, portFinding, readinessFinding } from '../doctor/service-checks.ts';
import { hasFlagsOfService } from '../relaunch.ts';
import type { Style } from '../table.ts';
import type { Terminal } from '../terminal.ts';

const MARKS: Record<Finding['status'], { mark: string; style: Style }> = {
  ok: { mark: 'ok     ', style: 'green' },
  warning: { mark: 'warning', style: 'yellow' },
  error: { mark: 'ERROR  ', style: 'red' },
  skipped: { mark: 'skipped', style: 'dim' },
};

/** Runs all checks in order; 1 when one of them found an error. */
export async function runDoctor(terminal: Terminal): Promise<ExitCode> {
  const { config, finding: configFinding } = readConfig();
  const checks: Check[] = [
    { code: 'node', title: 'Node version', run: async () => nodeFinding(process.versions.node, hasFlagsOfService()) },
    ...(config === null
      ? []
      : [
          { code: 'data-dir', title: 'data directory', run: () => dataDirFinding(config) },
          { code: 'api-key', title: 'admin key', run: () => keyFinding(config) },
        ]),
    { code: 'web_dist', title: 'dashboard', run: dashboardFinding },
    { code: 'config', title: 'configuration', run: async () => configFinding },
    ...(config === null
      ? []
      : [
          ...databaseChecks(config),
          { code: 'redis', title: 'Redis', run: () => redisFinding(config) },
          { code: 'port', title: 'port of the API', run: () => portFinding(config) },
          { code: 'model', title: 'model', run: async () => modelFinding(config) },
          { code: 'readiness', title: 'readiness of the running service', run: readinessFinding },
          { code: 'commands', title: 'commands of agents', run: () => commandsFinding(config) },
          { code: 'heartbeats', title: 'tasks of HEARTBEAT.md', run: () => heartbeatFinding(config) },
          ...channelChecks(config),
        ]),
  ];
  const findings: ({ number: number; code: string; title: string } & Finding)[] = [];
  for (const [at, check] of checks.entries()) {
    const finding = { number: at + 1, code: check.code, title: check.title, ...(await check.run()) };
    findings.push(finding);
    if (!terminal.isJson) printFinding(finding, terminal);
  }
  const errors = findings.filter((finding) => finding.status === 'error').length;
  const warnings = findings.filter((finding) => finding.status === 'warning').length;
  if (terminal.isJson) terminal.json({ ok: errors === 0, errors, warnings, checks: findings });
  else terminal.note(errors + warnings === 0 ? 'all checks passed' : `${errors} errors, ${warnings} warnings`);
  return errors === 0 ? EXIT.ok : EXIT.failed;
}

function printFinding(finding: { number: number; code: string; title: string } & Finding, terminal: Terminal): void {
  const { mark, style } = MARKS[finding.status];
  terminal.print(
    `${String(finding.number).padStart(2)}  ${terminal.paint(style, mark)}  ${finding.code}: ${finding.title}: ${finding.reason}`,
  );
  if (finding.fix !== undefined) terminal.print(`             Fix: ${finding.fix}`);
}

function readConfig(): { config: Config | null; finding: Finding } {
  try {
    const config = loadConfig();
    const file = config.runtime.configPath;
    return { config, finding: ok(file === null ? 'no file: defaults and environment' : file) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const fix = 'correct the values listed; "holdfast config validate" checks again';
    return { config: null, finding: failure(error.message, fix) };
  }
}
