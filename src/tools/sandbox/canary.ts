// A canary: a command that tries, in the sandbox of a workspace and as its user, what commands must
// not be able to do, and what they must. Its first words are the reason why the sandbox does not
// work. What a command must be able to do and cannot is no such reason: commands are inside.
import { existsSync } from 'node:fs';
import { chown, mkdtemp, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processEnvironment, type Config } from '../../config.ts';
import { realPathOf, type OsUser } from '../../config/places.ts';
import { newId } from '../../ids.ts';
import { runCommand } from '../run-command.ts';
import type { WrapCommand } from './port.ts';

const CANARY_MS_MAX = 15_000;
const OUTPUT_BYTES_MAX = 2_000;
/** The mark that the environment of the canary has before it is wrapped. */
const MARK = 'HOLDFAST_CANARY';
const INSIDE = 'inside';
const NOT_WRITABLE = 'commands cannot write to the workspace';
/** Namespaces in which a command must not be with the service. */
const NAMESPACES = ['pid', 'mnt', 'net', 'ipc'];

export interface CanaryOptions {
  config: Config;
  /** The real path of the workspace. */
  realDir: string;
  isReadOnly: boolean;
  user: OsUser | null;
  wrap: WrapCommand;
}

/**
 * `inside`: it ran in a sandbox, where it lacks something or nothing (null). `none`: no sandbox can
 * be made, or it does not keep its promises. `unsure`: nothing is known, because there was no
 * answer.
 */
export type CanaryEnd = { kind: 'inside'; lack: string | null } | { kind: 'none' | 'unsure'; reason: string };

/** Sends it. Rejects when it could not be sent. */
export async function sendCanary({ config, realDir, isReadOnly, user, wrap }: CanaryOptions): Promise<CanaryEnd> {
  if (!existsSync(realDir))
    return { kind: 'unsure', reason: `the workspace ${realDir} does not exist yet; the first start makes it` };
  const bait = join(realPathOf(config.runtime.dataDir), 'sandbox-canary');
  await writeFile(bait, 'A command of an agent that can read this file is not in a sandbox.\n');
  const environment = { ...processEnvironment(), [MARK]: 'set', HOLDFAST_IDEMPOTENCY_KEY: newId<string>() };
  const end = await runCommand({
    command: await script({ bait, realDir, isReadOnly }),
    workdir: realDir,
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
  if (end.wasAborted) return { kind: 'unsure', reason: `its check took longer than ${CANARY_MS_MAX / 1000} s` };
  const said = end.output.trim();
  const [first = '', ...others] = said.split('\n');
  const last = others.at(-1) ?? first;
  if (end.exitCode === 0 && (last === INSIDE || last === `${INSIDE}, but ${NOT_WRITABLE}`)) {
    const lack = last === INSIDE ? null : NOT_WRITABLE;
    if (others.length === 0) return { kind: 'inside', lack };
    // A warning of the runtime, as of a limit that the kernel does not have. Outside there would be
    // no limit at all.
    return config.tools.exec.sandbox === 'required' ? { kind: 'none', reason: first } : { kind: 'inside', lack: first };
  }
  if (end.exitSignal !== null) return { kind: 'unsure', reason: `its check ended with ${end.exitSignal}` };
  return { kind: 'none', reason: first || `its check ended with ${end.exitCode}` };
}

export function checkFailed(error: unknown): CanaryEnd & { kind: 'unsure' } {
  return { kind: 'unsure', reason: `its check failed: ${(error as Error).message}` };
}

/** Works in a folder of the user of commands that no command could change. */
export async function withEmptyFolder<Result>(
  user: OsUser | null,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(realPathOf(tmpdir()), 'holdfast-canary-'));
  try {
    if (user !== null) await chown(folder, user.uid, user.gid);
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Surroundings {
  bait: string;
  realDir: string;
  isReadOnly: boolean;
}

/** Reads namespaces through `ls`, which every system has. */
async function script({ bait, realDir, isReadOnly }: Surroundings): Promise<string> {
  const own = await Promise.all(
    NAMESPACES.map(async (name) => [name, await readlink(`/proc/self/ns/${name}`)] as const),
  );
  // A name that no command can have taken before.
  const file = quote(join(realDir, `.holdfast-canary-${newId<string>()}`));
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
      : `${write} && rm ${file} || { echo '${INSIDE}, but ${NOT_WRITABLE}'; exit; }`,
    `echo ${INSIDE}`,
  ].join('\n');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
