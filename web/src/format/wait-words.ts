// Why messages wait, in the words of a person: one title for each reason, and what to do about it.
import type { api } from '../api.ts';

export type WaitCode = NonNullable<NonNullable<Parameters<typeof api.listWaiting>[0]>['reason']>;

interface WaitWords {
  title: string;
  /** What a person can do; absent: nothing has to be done. */
  next?: string;
}

/** Those that need a person first. */
export const WAIT_WORDS: Readonly<Record<WaitCode, WaitWords>> = {
  approval: { title: 'A person has to decide', next: 'Read what would run, then approve or deny it.' },
  caller: { title: 'Their client has to run a tool', next: 'Look whether the client still works.' },
  external_tool: { title: 'A tool outside has to answer', next: 'Look whether the tool still works.' },
  budget_reached: { title: 'A budget is used up', next: 'Raise the budget, or wait for its next window.' },
  paused: { title: 'An operator has paused work', next: 'Resume it when the reason is gone.' },
  no_worker: { title: 'No worker takes this lane', next: 'Start a worker that has slots for it.' },
  storage_unavailable: { title: 'The storage is unavailable', next: 'Free or repair the disk of the database.' },
  queue_unreachable: { title: 'The queue is not reached', next: 'Start its server again.' },
  model_away: { title: 'A provider does not answer', next: 'Look at the status of the provider.' },
  model_wrong_address: { title: 'Something else answers at the address of a model', next: 'Correct its baseUrl.' },
  model_blocked: { title: 'A model is not called for a time', next: 'Wait, or unblock the model.' },
  rate_limited: { title: 'A rate limit is used up' },
  retry_wait: { title: 'A call is tried again soon' },
  lock_of_lost_worker: { title: 'A worker was lost', next: 'Another one takes over when the lease ends.' },
  ring_lost: { title: 'No worker was told yet' },
  lane_full: { title: 'All slots are in use', next: 'Wait, or add workers.' },
  session_busy: { title: 'The session has an open turn' },
  delivery_retried: { title: 'An earlier reply is sent again' },
  provider_batch: { title: 'A batch of the provider runs' },
  task: { title: 'A task of an MCP server runs' },
  yielded: { title: 'The agent waits for something' },
  gathering: { title: 'More messages are gathered' },
  delayed: { title: 'They are delivered later' },
};
