// Sends a message to the session, and shows beforehand what the chosen queue mode would do now.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Pause, type Session } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { Problem } from '../parts/problem.tsx';
import { usePauses } from './pauses.tsx';

export const MODES = ['collect', 'followup', 'steer', 'steer-backlog', 'interrupt', 'rollback', 'reject'] as const;
type Mode = (typeof MODES)[number];

/** The effect of a mode on a message while a turn is open, which runs or is parked. */
const WHILE_OPEN: Readonly<Record<Mode, string>> = {
  collect: 'waits, and goes together with others into the next turn',
  followup: 'waits for a turn of its own',
  steer: 'joins the open turn at its next step',
  'steer-backlog': 'joins the open turn, and is answered once more after it',
  interrupt: 'stops the open turn and is next',
  rollback: 'stops the open turn, undoes it, and is next',
  reject: 'is refused, because a turn is open',
};

/** The kinds of sessions with a lane of their own. */
const OWN_LANES: ReadonlySet<string> = new Set(['subagent', 'cron', 'batch']);

function isPausedBy({ key, agentId, kind }: Session, { session, agent, lane }: Pause): boolean {
  const ownLane = OWN_LANES.has(kind) ? kind : 'main';
  return (session ?? key) === key && (agent ?? agentId) === agentId && (lane ?? ownLane) === ownLane;
}

/** What a message would do now, as a sentence. */
function effectOf({ turnId, why }: Session, mode: Mode, isPaused: boolean): string {
  if (turnId !== null)
    return `Now it ${WHILE_OPEN[mode]}.${why == null ? '' : ' That turn waits for the reason above.'}`;
  if (isPaused) return 'Now it waits, because work is paused.';
  return why == null ? 'Now it begins a turn.' : 'Now it waits with the messages before it.';
}

export function Composer({ session }: { session: Session }): ReactElement {
  const queries = useQueryClient();
  const storageKey = `holdfast.draft.${session.key}`;
  const [text, setText] = useState(() => sessionStorage.getItem(storageKey) ?? '');
  const [mode, setMode] = useState<Mode | ''>('');
  const send = useMutation({
    mutationFn: () => api.sendMessage({ key: session.key, body: { text, ...(mode === '' ? {} : { mode }) } }),
    onSuccess() {
      change('');
      void queries.invalidateQueries({ queryKey: ['session'] });
    },
  });

  /** The draft survives a reload of the page. */
  function change(next: string): void {
    setText(next);
    sessionStorage.setItem(storageKey, next);
  }

  const used = mode === '' ? session.apiQueueMode : mode;
  const pauses = usePauses();
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== '') send.mutate();
      }}
    >
      <label className="hidden-visually" htmlFor="message">
        Message
      </label>
      <textarea
        id="message"
        placeholder="Write a message. Ctrl+Enter sends it."
        value={text}
        onChange={(event) => change(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
        }}
      />
      {send.isError && <Problem error={send.error} />}
      <div className="row">
        <Button type="submit" tone="main" disabled={send.isPending || text.trim() === ''}>
          Send
        </Button>
        <label className="row">
          Queue mode
          <select
            className="button"
            value={mode}
            onChange={(event) => setMode(MODES.find((each) => each === event.target.value) ?? '')}
          >
            <option value="">as usual: {session.apiQueueMode}</option>
            {MODES.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <span className="soft" role="status">
          {effectOf(session, used, pauses.data?.items.some((pause) => isPausedBy(session, pause)) === true)}
        </span>
      </div>
    </form>
  );
}
