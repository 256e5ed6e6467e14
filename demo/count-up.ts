// The numbers at the end of the demo: the service's counts, compared with the demo's own.
import type { MessageView } from '../src/contract/views.ts';
import type { Scene } from './chapter.ts';

export interface DemoNumbers {
  /** Inputs of sessions: messages of people, ticks, polls, tasks, announcements. */
  messages: number;
  turns: number;
  modelCalls: number;
  toolCalls: number;
  /** Inputs that did not reach their expected end, which is `answered` for most. */
  lost: number;
  /** Inputs that the demo did not cause, tool calls that ran twice, effects that happened twice. */
  doubled: number;
  recoveryMs: number | null;
}

/** Reads the service's counts, and checks that nothing is lost or doubled. */
export async function countUp(scene: Scene): Promise<DemoNumbers> {
  const { stage, record, check } = scene;
  const stats = await stage.read<{ messages: Record<string, number>; deadLetters: number }>('/v1/stats');
  const turns = await Array.fromAsync(stage.api.each('listTurns', { limit: 100 }));
  const messages = await Promise.all(
    [...record.inputs.keys()].map((id) => stage.read<MessageView>(`/v1/messages/${id}`)),
  );
  const steps = turns.flatMap((turn) => turn.steps ?? []);
  const tools = steps.flatMap((step) => step.tools);
  const stored = Object.values(stats.messages).reduce((sum, n) => sum + n, 0);
  const numbers: DemoNumbers = {
    messages: messages.length,
    turns: turns.length,
    modelCalls: steps.flatMap((step) => step.calls).length,
    toolCalls: tools.length,
    lost: messages.filter(({ id, status }) => status !== record.inputs.get(id)).length,
    doubled: stored - messages.length + tools.filter((tool) => tool.runs > 1).length + record.doubledEffects,
    recoveryMs: record.recoveryMs === null ? null : Math.round(record.recoveryMs),
  };
  check(
    numbers.lost === 0 && numbers.doubled === 0,
    'every message, tick, poll, task and announcement is stored with its expected end, and no others',
    { stats, numbers, messages },
  );
  const astray = turns.filter(({ id, status }) => status !== (record.turnEnds.get(id) ?? 'completed'));
  check(
    astray.length === 0 && stats.deadLetters === 0,
    'every turn ended as expected, and there is no dead letter',
    astray,
  );
  return numbers;
}
