// Checks what may have changed since the last poll of an agent: the output of a command, the answer
// of a URL, the content of a file. The content becomes a hash; nothing of it is stored or shown to
// a model. Every check is bounded in time and size.
import { createHash, type Hash } from 'node:crypto';
import { resolve } from 'node:path';
import { isAtOrBelow } from '../../tools/sandbox/rules/policy.ts';
import { cutHead } from '../../core/text.ts';
import { type AgentSettings, type Config, processEnvironment } from '../../config.ts';
import { orAborted } from '../../clock.ts';
import { withFileSlot } from '../../files/file-slots.ts';
import { isAbsent } from '../../files/held-folder.ts';
import { confinedTo } from '../../files/confines.ts';
import { openInside, readBytes } from '../../files/inside.ts';
import { homeOf, planCommands } from '../../tools/command-user.ts';
import { execEnvironment } from '../../tools/start-shell.ts';
import { runCommand } from '../../tools/run-command.ts';
import { sandboxOf } from '../../tools/sandbox/sandbox.ts';
import { fetchWeb } from '../../tools/web-fetch-request.ts';

/**
 * `seen`: the hash of its content. `failed`: it could not be checked, which says nothing about it.
 */
export type GateResult = { kind: 'seen'; sha256: string } | { kind: 'failed'; reason: string };

type Gate = NonNullable<AgentSettings['heartbeat']['when']>;

const OUTPUT_BYTES_MAX = 1_048_576;
const FILE_BYTES_MAX = 67_108_864;
const CHUNK_BYTES = 65_536;
const KILL_GRACE_MS = 500;
const REASON_CHARS_MAX = 500;

/**
 * Checks once. Never rejects, and ends at the deadline of the gate also when what it waits for does
 * not. `pollId` identifies the check to a command.
 */
export async function checkGate(
  gate: Gate,
  { agent, config, pollId, signal }: { agent: AgentSettings; config: Config; pollId: string; signal: AbortSignal },
): Promise<GateResult> {
  const deadline = AbortSignal.timeout(gate.timeoutSeconds * 1000);
  const bounded = AbortSignal.any([signal, deadline]);
  try {
    const hash = createHash('sha256');
    await orAborted(bounded, () => {
      if (gate.command !== undefined)
        return hashCommand(hash, gate.command, { agent, config, pollId, signal: bounded });
      if (gate.url !== undefined) return hashAnswer(hash, gate.url, config, bounded);
      const { workspaceDir } = agent;
      return hashFile(hash, resolve(workspaceDir, gate.file ?? ''), workspaceDir, bounded);
    });
    return { kind: 'seen', sha256: hash.digest('hex') };
  } catch (error) {
    const reason = deadline.aborted ? `took longer than ${gate.timeoutSeconds} s` : String((error as Error).message);
    return { kind: 'failed', reason: cutHead(reason, REASON_CHARS_MAX) };
  }
}

async function hashCommand(
  hash: Hash,
  command: string,
  { agent, config, pollId, signal }: { agent: AgentSettings; config: Config; pollId: string; signal: AbortSignal },
): Promise<void> {
  // It may run a script of the workspace, which the agent can change.
  const plan = planCommands(config, agent.workspaceDir);
  const { user, realDir } = plan;
  const environment = execEnvironment(processEnvironment(), pollId);
  const end = await runCommand({
    command,
    workdir: realDir,
    environment: user === null ? environment : { ...environment, ...homeOf(user, realDir) },
    user,
    wrap: await sandboxOf(config).enter(plan),
    outputBytesMax: OUTPUT_BYTES_MAX,
    signal,
    killGraceMs: () => KILL_GRACE_MS,
  });
  if (end.wasAborted) signal.throwIfAborted();
  hash.update(`command ${end.exitCode ?? end.exitSignal}\n`).update(end.output);
}

async function hashAnswer(hash: Hash, url: string, config: Config, signal: AbortSignal): Promise<void> {
  const { allowPrivate } = config.tools.fetch;
  const answer = await fetchWeb({ url, bytesMax: OUTPUT_BYTES_MAX, allowPrivate, signal });
  hash.update(`url ${answer.status}\n`).update(answer.body);
}

/**
 * A file that is not there is a picture, too. In the workspace the agent may put anything in its
 * place, so a file there is nowhere else.
 */
async function hashFile(hash: Hash, path: string, workspaceDir: string, signal: AbortSignal): Promise<void> {
  const root = isAtOrBelow(path, workspaceDir) ? workspaceDir : '/';
  const opened = await openInside(path, confinedTo(root)).catch((error: unknown) => {
    if (isAbsent(error)) return null;
    throw error;
  });
  hash.update(opened === null ? 'file absent' : 'file\n');
  if (opened === null) return;
  const { file, facts } = opened;
  try {
    for (let position = 0; position < FILE_BYTES_MAX;) {
      signal.throwIfAborted();
      const bytes = await withFileSlot(path, () => readBytes(file, position, CHUNK_BYTES), { signal });
      if (bytes.length === 0) return;
      hash.update(bytes);
      position += bytes.length;
    }
    // For a longer one, its size and the time of its last change represent the rest.
    hash.update(`${facts.size} ${facts.mtimeNs}`);
  } finally {
    await file.close();
  }
}
