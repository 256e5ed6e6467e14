// The output of a running soak: a line at intervals, and one whenever a dependency stops or
// returns.
import type { Outage } from './outages.ts';
import type { Stage } from './stage.ts';

const lineEveryMs = 10_000;

export class Progress {
  readonly #stage: Stage;
  readonly #outages: readonly Outage[];
  readonly #begin = performance.now();
  #timer: NodeJS.Timeout | null = null;

  constructor(stage: Stage, outages: readonly Outage[]) {
    this.#stage = stage;
    this.#outages = outages;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#show(), lineEveryMs);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #show(): Promise<void> {
    const away = this.#outages.filter(({ beganAt, isOver }) => beganAt !== null && !isOver).map(({ name }) => name);
    const figures = await this.#read().catch(() => null);
    const seconds = Math.round((performance.now() - this.#begin) / 1000);
    const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`.padStart(6);
    const counts =
      figures === null
        ? 'the database does not answer'
        : Object.entries(figures)
            .map(([name, count]) => `${name} ${count}`)
            .join(', ');
    console.log(`${time}  ${counts}${away.length === 0 ? '' : `  [no ${away.join(', ')}]`}`);
  }

  async #read(): Promise<Record<string, string>> {
    const [row] = await this.#stage.rows<Record<string, string>>(
      `select (select count(*) from holdfast.inbox where status = 'answered') as answered,
         (select count(*) from holdfast.inbox where settled_at is null) as waiting,
         (select count(*) from holdfast.inbox where status in ('failed', 'dropped')) as failed,
         (select count(*) from holdfast.deliveries where status = 'sent') as delivered,
         (select count(*) from holdfast.subagent_runs where status = 'ok') as subagents,
         (select count(*) from holdfast.cron_fires where message_id is not null) as ticks`,
    );
    return row ?? {};
  }
}
