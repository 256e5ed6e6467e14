// A turn in words: what came in, and what was answered, or why there is no answer and what to do
// next.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { api, type Turn, type TurnInputs } from '../api.ts';
import { parseKeepingIntegers } from '../format/json-text.ts';
import { durationText, lengthMs } from '../format/time.ts';
import { Age, Status } from '../parts/bits.tsx';
import { NoData } from '../parts/loading.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { useFirst } from '../parts/show-more.tsx';
import { WhyText } from '../parts/why-text.tsx';
import { JsonTree } from '../words/json-tree.tsx';
import { Words } from '../words/words.tsx';

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

/**
 * The inputs of a turn; more can join while it runs, and those that are known stay until it has
 * been read how it ended.
 */
export function useInputs({ id, endedAt }: Turn) {
  return useQuery({
    queryKey: ['turn', id, 'inputs', endedAt],
    queryFn: () => api.getTurnInputs({ id }),
    placeholderData: (before, query) => (query?.queryKey[1] === id ? before : undefined),
  });
}

/**
 * The newest of its deliveries that has ended without being delivered, as far as no person has
 * decided about it; null: there is none.
 */
export function useDeadDelivery({ id, endedAt }: Turn) {
  return useQuery({
    queryKey: ['deliveries', 'dead', id],
    queryFn: async () =>
      (await api.listDeliveries({ turn: id, status: ['failed', 'expired', 'unknown'], limit: 1 })).items[0] ?? null,
    enabled: endedAt !== null,
  });
}

export function CauseLink({ cause }: { cause: Cause }): ReactElement {
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

/** So many messages of a turn stand before its answer. */
const MESSAGES_SHOWN = 10;

export function TurnWords({ turn }: { turn: Turn }): ReactElement {
  return (
    <div className="exchange">
      <CameIn turn={turn} />
      <Answer turn={turn} />
    </div>
  );
}

function CameIn({ turn }: { turn: Turn }): ReactElement {
  const inputs = useInputs(turn);
  const { first, more } = useFirst(inputs.data?.messages ?? [], MESSAGES_SHOWN);
  return (
    <section className="said" aria-labelledby="came-in">
      <h2 id="came-in">What came in</h2>
      {inputs.data === undefined && <NoData query={inputs} />}
      {inputs.data?.messages.length === 0 && <p className="soft">No message: a turn of the kind {turn.kind}.</p>}
      {first.map(({ id, text, receivedAt, cause }) => (
        <article key={id} aria-label="Message">
          <p className="soft">
            <CauseLink cause={cause} />, <Age at={receivedAt} />
          </p>
          <Words text={text} />
        </article>
      ))}
      {more}
    </section>
  );
}

function answerTone({ error, endedAt, status }: Turn): 'bad' | 'good' | 'live' | 'warn' {
  if (error !== null) return 'bad';
  if (endedAt !== null) return 'good';
  return status === 'parked' ? 'warn' : 'live';
}

function Answer({ turn }: { turn: Turn }): ReactElement {
  const { error, why, reply, output, nextStep, endedAt } = turn;
  const { data: undelivered } = useDeadDelivery(turn);
  return (
    <section className="said" data-tone={undelivered == null ? answerTone(turn) : 'bad'} aria-labelledby="answered">
      <h2 id="answered">{error !== null ? 'Why there is no answer' : endedAt === null ? 'No answer yet' : 'Answer'}</h2>
      {(error !== null || endedAt === null) && (
        <p className="row">
          <Status status={turn.status} />
          {error !== null && (
            <strong className="mono">
              <SafeText text={error.code} />
            </strong>
          )}
        </p>
      )}
      {error !== null && <Words text={error.message} />}
      {why !== null && (
        <p>
          <WhyText why={why} />
        </p>
      )}
      {nextStep !== null && (
        <p>
          <strong>What to do next:</strong> {nextStep}
        </p>
      )}
      {reply !== null && output === null && <Words text={reply} />}
      {reply !== null && output !== null && (
        // The value was read by a client that rounds integers.
        <JsonTree value={parseKeepingIntegers(reply)} place={`${turn.id} output`} />
      )}
      {undelivered != null && (
        <p className="row">
          Its delivery ended: <Status status={undelivered.status} />
          <SafeText text={undelivered.lastError ?? String(undelivered.lastStatus ?? 'no answer')} />
          <Link to="/turns/$id" params={{ id: turn.id }} search={{ tab: 'deliveries' }}>
            its attempts
          </Link>
        </p>
      )}
      {reply === null && error === null && why === null && (
        <p className="soft">
          {endedAt === null
            ? `It is being written, for ${durationText(lengthMs(turn.startedAt, null))}.`
            : 'The agent chose to say nothing.'}
        </p>
      )}
      <p>
        <Link to="/sessions/$key" params={{ key: turn.sessionKey }}>
          Open the session
        </Link>
      </p>
    </section>
  );
}
