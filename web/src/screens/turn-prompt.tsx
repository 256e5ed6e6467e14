// What a turn answers: what triggered it, the parts of its prompt, and the messages and system events that they come from.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api, type Turn, type TurnInputs } from '../api.ts';
import { partText } from '../format/request-text.ts';
import { Age, Empty, Status } from '../parts/bits.tsx';
import { NoData } from '../parts/loading.tsx';
import { LongText, SafeText } from '../parts/safe-text.tsx';
import { PartBlock, useRequest } from './request.tsx';

type Cause = TurnInputs['messages'][number]['cause'];

const CAUSES: Readonly<Record<Cause['kind'], string>> = {
  request: 'a request',
  cron: 'a cron',
  spawn: 'a spawn',
  subagent: 'the end of a subagent',
  session: 'a message of another session',
  steering: 'a message that had joined an earlier turn',
  wait: 'the end of a wait',
  batch: 'a batch',
  retry: 'a retry',
};

/** The inputs of a turn; more can join while it runs. */
function useInputs({ id, endedAt }: Turn) {
  return useQuery({ queryKey: ['turn', id, 'inputs', endedAt], queryFn: () => api.getTurnInputs({ id }) });
}

/** What caused the first message of the turn, with a link to it. */
export function TurnTrigger({ turn }: { turn: Turn }): ReactElement {
  const { data, isError } = useInputs(turn);
  if (data === undefined) return <span className="soft">{isError ? 'could not be read' : '…'}</span>;
  const [first] = data.messages;
  if (first === undefined) return <span className="soft">{turn.kind}</span>;
  return <CauseLink cause={first.cause} />;
}

function CauseLink({ cause }: { cause: Cause }): ReactElement {
  const link = linkOf(cause);
  return link === null ? (
    <>{CAUSES[cause.kind]}</>
  ) : (
    <>
      {CAUSES[cause.kind]}: {link}
    </>
  );
}

/** To the most specific row that caused a message; null: none is known. */
function linkOf({ cron, batchId, turnId, sessionKey }: Cause): ReactElement | null {
  if (cron !== null)
    return (
      <Link to="/crons/$id" params={{ id: cron.id }}>
        <SafeText text={cron.name} />
      </Link>
    );
  if (batchId !== null)
    return (
      <Link to="/batches/$id" params={{ id: batchId }}>
        {batchId.slice(-6)}
      </Link>
    );
  if (turnId !== null)
    return (
      <Link to="/turns/$id" params={{ id: turnId }}>
        turn {turnId.slice(-6)}
      </Link>
    );
  if (sessionKey !== null)
    return (
      <Link to="/sessions/$key" params={{ key: sessionKey }}>
        <SafeText text={sessionKey} />
      </Link>
    );
  return null;
}

export function TurnPrompt({ turn }: { turn: Turn }): ReactElement {
  return (
    <>
      <PromptParts turn={turn} />
      <Sources turn={turn} />
    </>
  );
}

/** The parts of the prompt as they stand in the first request. */
function PromptParts({ turn }: { turn: Turn }): ReactElement {
  const isCalled = turn.steps.some(({ calls }) => calls.length > 0);
  const request = useRequest(turn.id, 1, isCalled);
  if (!isCalled) return <Empty>The turn has made no model call yet.</Empty>;
  if (request.isError || request.data === undefined) return <NoData query={request} />;
  const { parts, request: body } = request.data;
  const own = parts.filter(({ entry }) => entry?.turnId === turn.id && entry.kind === 'prompt');
  return (
    <section className="panel" aria-labelledby="prompt-parts">
      <h2 id="prompt-parts">Parts of the prompt</h2>
      {own.length === 0 && <Empty>The prompt is not in the first request.</Empty>}
      {own.map((part) => (
        <PartBlock
          key={`${part.path} ${part.span?.start ?? ''} ${part.name}`}
          part={part}
          text={partText(body, part)}
          isNew={false}
        />
      ))}
    </section>
  );
}

function Sources({ turn }: { turn: Turn }): ReactElement {
  const inputs = useInputs(turn);
  if (inputs.isError || inputs.data === undefined) return <NoData query={inputs} />;
  const { messages, systemEvents } = inputs.data;
  return (
    <>
      <section className="panel" aria-labelledby="messages">
        <h2 id="messages">Messages</h2>
        {messages.length === 0 && <Empty>The turn answers no message.</Empty>}
        {messages.map(({ id, seq, text, receivedAt, cause }) => (
          <article className="entry" key={id} aria-label={`Message ${seq}`}>
            <header>
              <strong>#{seq}</strong>
              <Age at={receivedAt} />
              <span>
                from <CauseLink cause={cause} />
              </span>
              <span className="mono soft">{id}</span>
            </header>
            <LongText text={text} />
          </article>
        ))}
      </section>
      {systemEvents.length > 0 && (
        <section className="panel" aria-labelledby="system-events">
          <h2 id="system-events">System events</h2>
          {systemEvents.map(({ id, text, state, trusted, createdAt }) => (
            <article className="entry" key={id}>
              <header>
                <Age at={createdAt} />
                <Status status={state} />
                {!trusted && (
                  <span className="chip" data-tone="bad">
                    untrusted
                  </span>
                )}
              </header>
              <LongText text={text} />
            </article>
          ))}
        </section>
      )}
    </>
  );
}
