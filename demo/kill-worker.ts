// Kills the worker of a turn with SIGKILL while a tool runs, and shows how another one takes the
// turn over. The kill follows an event and a line of a file, not the clock: the call has begun, and
// its effect is there.
import { performance } from 'node:perf_hooks';
import type { StreamedEvent } from '../src/cli/event-stream.ts';
import type { TurnView } from '../src/contract/views.ts';
import type { Scene } from './chapter.ts';
import type { DemoProcess } from './demo-process.ts';
import type { PlayOptions } from './play-message.ts';
import type { ScriptedMessage } from './script.ts';
import { awaitLine } from './workspace-lines.ts';

export interface Kill {
  victim: DemoProcess | null;
  atMs: number;
  /** From the kill to the first event of the next worker, in milliseconds. */
  recoveryMs: number | null;
}

interface FatalCall {
  /** Those that are alive. */
  workers: readonly DemoProcess[];
  script: ScriptedMessage;
  /** The number of the step, from 1, whose call is interrupted. */
  step: number;
  /** The file that shows the effect of the call, and how its line begins. */
  file: string;
  line: string;
  /** What the next worker does with the calls, for people. */
  taken: string;
}

export function newKill(): Kill {
  return { victim: null, atMs: 0, recoveryMs: null };
}

/**
 * Kills the worker in the fatal step and shows the takeover; all other events are shown as usual.
 */
export function showKill(scene: Scene, kill: Kill, fatal: FatalCall): NonNullable<PlayOptions['show']> {
  const { progress } = scene;
  const label = fatal.script.steps[fatal.step - 1]?.label ?? '';
  return async (event, live) => {
    if (kill.victim === null) {
      if (event.type !== 'tool.started' || event.data['step'] !== fatal.step) return false;
      live.step = progress.begin(label);
      await awaitLine(scene, fatal.file, fatal.line);
      kill.victim = await workerOf(scene, fatal.workers, event);
      kill.atMs = performance.now();
      await kill.victim.kill();
      const { name, pid } = kill.victim;
      live.step.end('unknown', `${label}: ${name} (process ${pid}) is killed in the middle of it`);
      live.step = progress.begin('the session is locked until the lease of the killed worker expires');
      return true;
    }
    if (kill.recoveryMs !== null) return false;
    kill.recoveryMs = performance.now() - kill.atMs;
    const follower = fatal.workers.find((worker) => worker !== kill.victim);
    live.step?.done(`${follower?.name} takes over: ${fatal.taken}`);
    live.step = null;
    return event.type === 'tool.ended';
  };
}

/** The process that runs the turn: its name in the API is host, process and a number. */
async function workerOf(
  { stage }: Scene,
  workers: readonly DemoProcess[],
  { turnId }: StreamedEvent,
): Promise<DemoProcess> {
  const { worker } = await stage.read<TurnView>(`/v1/turns/${turnId}`);
  const found = workers.find(({ pid }) => worker?.split(':').includes(String(pid)));
  if (found === undefined) throw new Error(`${worker} is none of the workers of this demo`);
  return found;
}
