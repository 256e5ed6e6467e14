// The models that no worker calls for a time, each with a button that lifts its block.
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { me } from '../me.ts';
import { Time } from '../parts/bits.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';

/** The blocks; nothing when there are none. */
export function ModelBlocks(): ReactElement | null {
  const list = useQuery({ queryKey: ['model-blocks'], queryFn: () => api.listModelBlocks() });
  const { data: who } = useSuspenseQuery(me);
  const queries = useQueryClient();
  const [model, setModel] = useState<string | null>(null);
  const items = list.data?.items ?? [];
  if (items.length === 0) return list.isError ? <Problem error={list.error} /> : null;
  return (
    <section className="panel" aria-labelledby="blocked-models">
      <h2 id="blocked-models">Blocked models</h2>
      <ul className="plain-list">
        {items.map((block) => (
          <li key={`${block.model} ${block.since}`} className="row">
            <strong>
              <SafeText text={block.model} />
            </strong>
            <span>
              {block.kind === 'away' ? 'away; the next call tests it after ' : 'not called until '}
              <Time at={block.until} />
              {block.text !== null && (
                <>
                  : <SafeText text={block.text} />
                </>
              )}
            </span>
            {who.role !== 'viewer' && (
              <button
                type="button"
                className="button"
                aria-label={`Unblock… ${block.model}`}
                onClick={() => setModel(block.model)}
              >
                Unblock…
              </button>
            )}
          </li>
        ))}
      </ul>
      {model !== null && (
        <Confirm
          title={`Unblock ${model}?`}
          verb="Unblock the model"
          asksReason
          onClose={() => setModel(null)}
          perform={async (reason) => {
            await api.unblockModels({ body: { model, ...(reason === undefined ? {} : { reason }) } });
            await queries.invalidateQueries();
          }}
        >
          <p>
            The turns that wait for the model call it now. If its provider still refuses calls, it is blocked again.
          </p>
        </Confirm>
      )}
    </section>
  );
}
