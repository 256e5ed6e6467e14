// The numbers at the end of the demo: what the service says it has, held against what the demo knows it did.
import type { ListAnswer, MessageAnswer, TurnAnswer } from '../api-types.ts';
import { pathWithQuery } from '../api-client.ts';
import type { Scene } from './chapter.ts';

export interface DemoNumbers {
  messages: number;
  turns: number;
  modelCalls: number;
  toolCalls: number;
  /** Messages that were accepted and are not answered. */
  lost: number;
  /** Messages that the service has and nobody sent, tool calls that ran twice, effects that happened twice. */
  doubled: number;
  recoveryMs: number | null;
}

/** Counts what the service has, and checks that nothing is missing and nothing is there twice. */
export async function countUp(scene: Scene): Promise<DemoNumbers> {
  const { stage, record, check } = scene;
  const stats = await stage.read<{ messages: Record<string, number>; deadLetters: number }>('/v1/stats');
  const turns = await readTurns(scene);
  const messages = await Promise.all(record.messageIds.map((id) => stage.read<MessageAnswer>(`/v1/messages/${id}`)));
  const steps = turns.flatMap((turn) => turn.steps);
  const tools = steps.flatMap((step) => step.tools);
  const stored = Object.values(stats.messages).reduce((sum, n) => sum + n, 0);
  const numbers: DemoNumbers = {
    messages: record.messageIds.length,
    turns: turns.length,
    modelCalls: steps.flatMap((step) => step.calls).length,
    toolCalls: tools.length,
    lost: messages.filter((message) => message.status !== 'answered').length,
    doubled: stored - messages.length + tools.filter((tool) => tool.runs > 1).length + record.doubledEffects,
    recoveryMs: record.recoveryMs === null ? null : Math.round(record.recoveryMs),
  };
  check(
    numbers.lost === 0 && numbers.doubled === 0 && stats.messages['answered'] === messages.length,
    'the service has every message that was sent, answered, and not one more',
    { stats, numbers },
  );
  check(
    turns.every((turn) => turn.status === 'completed') && stats.deadLetters === 0,
    'every turn is completed, nothing was given up',
    turns.filter((turn) => turn.status !== 'completed'),
  );
  return numbers;
}

async function readTurns({ stage }: Scene): Promise<TurnAnswer[]> {
  const turns: TurnAnswer[] = [];
  let cursor: string | undefined;
  do {
    const path = pathWithQuery('/v1/turns', { limit: 100, cursor });
    const page: ListAnswer<TurnAnswer> = await stage.read<ListAnswer<TurnAnswer>>(path);
    turns.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return turns;
}
