// Texts that the list of crons and the screen of one share.
import type { ReactElement } from 'react';
import type { Cron, CronFire } from '../api.ts';
import { Chip, Cost } from './bits.tsx';

/** What can create one, in words. */
export const ORIGINS = { config: 'configuration', api: 'a request', agent: 'an agent' } as const;

/** Whether it runs, and why not. */
export function CronState({ cron: { enabled, disabledReason, failures } }: { cron: Cron }): ReactElement {
  const [text, tone] = enabled
    ? failures > 0
      ? [`${failures} failed`, 'bad']
      : ['on', 'good']
    : [disabledReason === null ? 'paused' : 'disabled', 'warn'];
  return <Chip tone={tone}>{text}</Chip>;
}

/** The cost of runs; none may have run, or with a model that has no price. */
export function RunCost(props: {
  micros: number | null;
  fires: readonly CronFire[];
  isInColumn?: boolean;
}): ReactElement {
  const { micros, fires, isInColumn = false } = props;
  if (micros === null) return <>—</>;
  const simulated = fires.some((fire) => fire.simulated);
  return <Cost of={{ costMicros: micros, simulated }} isInColumn={isInColumn} />;
}
