// Texts that the list of crons and the screen of one share.
import type { ReactElement } from 'react';
import type { Cron, CronFire } from '../api.ts';
import { Cost } from './bits.tsx';

/** Whether it fires, and why not. */
export function CronState({ cron }: { cron: Cron }): ReactElement {
  if (!cron.enabled)
    return (
      <span className="chip" data-tone="warn">
        {cron.disabledReason === null ? 'paused' : 'disabled'}
      </span>
    );
  if (cron.failures > 0)
    return (
      <span className="chip" data-tone="bad">
        {cron.failures} failed
      </span>
    );
  return (
    <span className="chip" data-tone="good">
      on
    </span>
  );
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
