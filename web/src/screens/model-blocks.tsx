// The models that no worker calls for a time, each with a button that lifts its block.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { useCanAct, useSeesAll } from '../me.ts';
import { Age } from '../parts/bits.tsx';
import { ConfirmButton } from '../parts/dialog-button.tsx';
import { Fault } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { SafeText } from '../parts/safe-text.tsx';

/** The blocks; nothing when there are none. */
export function ModelBlocks(): ReactElement | null {
  const list = useQuery({ queryKey: ['model-blocks'], queryFn: () => api.listModelBlocks(), enabled: useSeesAll() });
  const canAct = useCanAct();
  const queries = useQueryClient();
  const items = list.data?.items ?? [];
  if (items.length === 0) return <Fault query={list} />;
  return (
    <Panel title="Blocked models" className="notice">
      <ul className="plain-list">
        {items.map((block) => (
          <li key={`${block.model} ${block.since}`} className="row">
            <strong>
              <SafeText text={block.model} />
            </strong>
            <span>
              {block.kind === 'away' ? 'does not answer' : 'not called, because its provider has asked for that'}
              {block.text !== null && (
                <>
                  : <SafeText text={block.text} />
                </>
              )}
              ; {block.kind === 'away' ? 'tested' : 'called'} again <Age at={block.until} />
            </span>
            {canAct && (
              <ConfirmButton
                name="Unblock…"
                label={`Unblock… ${block.model}`}
                title={`Unblock ${block.model}?`}
                verb="Unblock the model"
                asksReason
                perform={async (reason) => {
                  await api.unblockModels({
                    body: { model: block.model, ...(reason === undefined ? {} : { reason }) },
                  });
                  await queries.invalidateQueries();
                }}
              >
                <p>
                  The turns that wait for the model call it now. If its provider still refuses calls, it is blocked
                  again.
                </p>
              </ConfirmButton>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
