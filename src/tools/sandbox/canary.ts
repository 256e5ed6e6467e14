// A canary: a command that tries, in the sandbox of a workspace and as its user, what commands must not be able to do, and what they must. Its
// first words are the reason why the sandbox does not work.
import { existsSync } from 'node:fs';
import { readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { processEnvironment, type Config } from '../../config.ts';
import type { OsUser } from '../../config/os-users.ts';
import { newId } from '../../ids.ts';
import { runCommand } from '../run-command.ts';
import type { WrapCommand } from './port.ts';

const CANARY_MS_MAX = 15_000;
const OUTPUT_BYTES_MAX = 2_000;
/** The mark that the environment of the canary has before it is wrapped. */
const MARK = 'HOLDFAST_CANARY';
/** Namespaces in which a command must not be with the service. */
const NAMESPACES = ['pid', 'mnt', 'net', 'ipc'];

export interface CanaryOptions {
  config: Config;
  workspaceDir: string;
  isReadOnly: boolean;
  user: OsUser | null;
  wrap: WrapCommand;
}

/** Why the sandbox does not work in a workspace; null: it works. Rejects when the canary could not be sent. */
export async function sendCanary({
  config,
  workspaceDir,
  isReadOnly,
  user,
  wrap,
}: CanaryOptions): Promise<string | null> {
  if (!existsSync(workspaceDir)) return `the workspace ${workspaceDir} does not exist yet; the first start makes it`;
  const bait = join(config.runtime.dataDir, 'sandbox-canary');
  await writeFile(bait, 'A command of an agent that can read this file is not in a sandbox.\n');
  const environment = { ...processEnvironment(), [MARK]: 'set', HOLDFAST_IDEMPOTENCY_KEY: newId<string>() };
  const end = await runCommand({
    command: await script({ bait, workspaceDir, isReadOnly }),
    workdir: workspaceDir,
    environment: Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined)) as Record<
      string,
      string
    >,
    user,
    wrap,
    outputBytesMax: OUTPUT_BYTES_MAX,
    signal: AbortSignal.timeout(CANARY_MS_MAX),
    killGraceMs: () => 0,
  });
  if (end.wasAborted) return `its check took longer than ${CANARY_MS_MAX / 1000} s`;
  const said = end.output.trim();
  if (end.exitCode === 0 && said === 'inside') return null;
  return said.split('\n')[0] || `its check ended with ${end.exitCode ?? end.exitSignal}`;
}

interface Surroundings {
  bait: string;
  workspaceDir: string;
  isReadOnly: boolean;
}

/** Reads namespaces through `ls`, which every system has. */
async function script({ bait, workspaceDir, isReadOnly }: Surroundings): Promise<string> {
  const own = await Promise.all(
    NAMESPACES.map(async (name) => [name, await readlink(`/proc/self/ns/${name}`)] as const),
  );
  const file = quote(join(workspaceDir, `.holdfast-canary-${process.pid}`));
  const write = `(: > ${file}) 2>/dev/null`;
  return [
    `fail() { echo "$1"; exit 1; }`,
    `[ -z "$${MARK}" ] || fail 'commands see the environment of the service'`,
    ...own.map(
      ([name, id]) =>
        `case $(ls -l /proc/self/ns/${name}) in *'${id}') fail 'commands share the ${name} namespace of the service' ;; esac`,
    ),
    `[ ! -e ${quote(bait)} ] || fail 'commands can read the data directory'`,
    `grep -Eq '^CapEff:[[:space:]]*0+$' /proc/self/status || fail 'commands have capabilities'`,
    `grep -Eq '^NoNewPrivs:[[:space:]]*1$' /proc/self/status || fail 'commands can gain privileges'`,
    `if (: > /usr/.holdfast-canary) 2>/dev/null; then fail 'commands can write to /usr'; fi`,
    `(: > /tmp/.holdfast-canary) 2>/dev/null || fail 'commands cannot write to /tmp'`,
    isReadOnly
      ? `if ${write}; then rm ${file}; fail 'commands can write to the workspace'; fi`
      : `${write} && rm ${file} || fail 'commands cannot write to the workspace'`,
    'echo inside',
  ].join('\n');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
