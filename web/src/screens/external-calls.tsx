// The calls of external tools that a session waits for: what each asks of its program, and until
// when.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { exactApi } from '../api.ts';
import { Age } from '../parts/bits.tsx';
import { TurnLink } from '../parts/links.tsx';
import { NoData } from '../parts/loading.tsx';
import { LongText, SafeText } from '../parts/safe-text.tsx';

/** The oldest; the list of messages shows no more of a reason at first. */
const CALLS_MAX = 100;

/** `why`: why the session waits, shown if none of its calls is among those that were read. */
export function ExternalCalls({ sessionKey, why }: { sessionKey: string; why: string }): ReactElement {
  const calls = useQuery({
    // Begins as the list's does: the events that change it change these.
    queryKey: ['waiting', 'calls'],
    queryFn: () => exactApi.listExternalCalls({ status: 'waiting', limit: CALLS_MAX }),
  });
  if (calls.data === undefined) return <NoData query={calls} />;
  const own = calls.data.items.filter((call) => call.sessionKey === sessionKey);
  if (own.length === 0) return <SafeText text={why} />;
  return (
    <>
      {own.map(({ id, tool, input, turnId, expiresAt }) => (
        <section key={id} className="approval card" aria-label={`Call of ${tool}`}>
          <p className="row">
            <strong className="mono">
              <SafeText text={tool} />
            </strong>
            <TurnLink id={turnId} />
            <span className="soft">
              fails <Age at={expiresAt} /> without a result
            </span>
          </p>
          <LongText text={inputText(input)} />
        </section>
      ))}
    </>
  );
}

/** A command as one, anything else as JSON. */
function inputText(input: unknown): string {
  const { command, ...others } = (input ?? {}) as Record<string, unknown>;
  const isCommand = typeof command === 'string' && Object.keys(others).length === 0;
  return isCommand ? command : JSON.stringify(input, null, 2);
}
