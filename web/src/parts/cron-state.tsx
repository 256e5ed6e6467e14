// Texts that the list of crons and the screen of one share.
import type { ReactElement } from 'react';
import type { Cron } from '../api.ts';
import { dollarsText } from '../format/amounts.ts';

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
export function runCostText(micros: number | null): string {
  return micros === null ? '—' : dollarsText(micros);
}
