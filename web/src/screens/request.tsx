// What the model was sent in one call, part by part: where each part comes from, whether its words
// are trusted, how many tokens it has, and where the cache begins. The parts that another call did
// not have can be marked.
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState, type ReactElement } from 'react';
import { exactApi, type ModelRequest, type Turn } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { jsonText } from '../format/json-text.ts';
import { partText, type Part } from '../format/request-text.ts';
import { Chip, Empty } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Problem } from '../parts/problem.tsx';
import { LongText, SafeText } from '../parts/safe-text.tsx';
import { saveFile } from '../parts/save-file.ts';
import { Choice, Filters } from './filters.tsx';

export function Request({ turn, call, against }: { turn: Turn; call: number; against: number | null }): ReactElement {
  const navigate = useNavigate({ from: '/turns/$id' });
  const calls = turn.steps.flatMap((step) => step.calls.map(({ n }) => String(n)));
  const shown = useRequest(turn.id, call, calls.length > 0);
  const other = useRequest(turn.id, against ?? 0, against !== null);
  const [isRaw, setRaw] = useState(false);
  const { data } = shown;
  const json = useMemo(() => (data === undefined ? undefined : (data.body ?? jsonText(data.request))), [data]);
  if (calls.length === 0) return <Empty>The turn has made no model call yet.</Empty>;
  const known = new Set(other.data?.parts.map((part) => partText(other.data.request, part)));
  return (
    <section className="panel" aria-label="Request">
      <Filters>
        <Choice
          name="Call"
          value={String(call)}
          options={calls}
          usual="1"
          onChange={(n) => void navigate({ search: (before) => ({ ...before, call: n ?? '1' }) })}
        />
        <Choice
          name="Mark what is new against call"
          value={against === null ? undefined : String(against)}
          options={calls.filter((n) => n !== String(call))}
          usual="none"
          onChange={(n) =>
            void navigate({
              search: ({ against: _against, ...rest }) => (n === undefined ? rest : { ...rest, against: n }),
            })
          }
        />
        <Button aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          {isRaw ? 'Parts' : 'JSON'}
        </Button>
        {json !== undefined && <TakeAway json={json} name={`${turn.id}-call-${call}.json`} />}
      </Filters>
      {shown.isError && <Problem error={shown.error} />}
      {shown.data !== undefined && (
        <>
          <Proof request={shown.data} />
          {isRaw ? (
            <LongText text={json ?? ''} />
          ) : (
            shown.data.parts.map((part) => {
              const text = partText(shown.data.request, part);
              return (
                <PartBlock
                  key={`${part.path} ${part.span?.start ?? ''} ${part.name}`}
                  part={part}
                  text={text}
                  isNew={other.data !== undefined && !known.has(text)}
                />
              );
            })
          )}
        </>
      )}
    </section>
  );
}

/** A longer text is saved as a file: a clipboard may not take it. */
const COPY_CHARS_MAX = 2_000_000;

function TakeAway({ json, name }: { json: string; name: string }): ReactElement {
  if (json.length <= COPY_CHARS_MAX) return <CopyButton name="Copy JSON" text={() => json} />;
  return <Button onClick={() => saveFile({ name, text: json, type: 'application/json' })}>Download JSON</Button>;
}

/** The request of a call; it never changes. */
export function useRequest(id: string, n: number, enabled: boolean) {
  return useQuery({
    queryKey: ['request', id, n],
    queryFn: () => exactApi.getModelRequest({ id, n }),
    enabled,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/**
 * Whether the shown request is the one that was sent: it is derived again from the stored rows, and
 * its hash is compared.
 */
function Proof({ request: { matches, requestSha256, body } }: { request: ModelRequest }): ReactElement {
  if (matches === true) {
    return (
      <p>
        <Chip tone="good">proved equal</Chip>{' '}
        <span className="soft">
          {body === null
            ? 'The hash of what is shown is that of what was sent: '
            : "The hash of the JSON, which is in the form of the provider's API, is that of what was sent: "}
        </span>
        <span className="mono">{requestSha256?.slice(0, 16)}</span>
      </p>
    );
  }
  return (
    <p>
      <Chip tone={matches === false ? 'bad' : 'warn'}>{matches === false ? 'differs' : 'not proved'}</Chip>{' '}
      <span className="soft">
        {matches === false
          ? 'What was sent had another hash than what is shown.'
          : requestSha256 === null
            ? 'No hash of what was sent is stored.'
            : 'It was sent in a form that only the plugin of its provider knows.'}
      </span>
    </p>
  );
}

/** One part of a request: where it comes from, and its text when it is opened. */
export function PartBlock({ part, text, isNew }: { part: Part; text: string; isNew: boolean }): ReactElement {
  return (
    <details className="part" data-trust={part.trust} open={isNew}>
      <summary className="row">
        <strong>{part.name}</strong>
        <Chip tone={part.trust === 'trusted' ? 'good' : part.trust === 'untrusted' ? 'bad' : 'live'}>{part.trust}</Chip>
        <span className="soft">
          <SafeText text={part.origin} />, {countText(part.tokens)} tokens
        </span>
        {part.cacheMarker && <Chip>cache marker</Chip>}
        {isNew && <Chip tone="warn">new</Chip>}
      </summary>
      <p className="mono soft">{part.path}</p>
      <LongText text={text} />
    </details>
  );
}
