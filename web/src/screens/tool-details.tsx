// The input and the result of a tool call, loaded when it is opened.
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { NoData } from '../parts/loading.tsx';
import { LongText } from '../parts/safe-text.tsx';

/** The call; of no call nothing is read. */
export function toolCallQuery(place: { id: string; callId: string } | null) {
  return queryOptions({
    queryKey: ['tool-call', place?.id, place?.callId],
    queryFn: () => (place === null ? Promise.resolve(null) : api.getToolCall(place)),
  });
}

export function ToolDetails({ turnId, callId }: { turnId: string; callId: string }): ReactElement {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Arguments and result</summary>
      {isOpen && <LoadedDetails id={turnId} callId={callId} />}
    </details>
  );
}

function LoadedDetails(place: { id: string; callId: string }): ReactElement {
  const call = useQuery(toolCallQuery(place));
  if (call.isError || !call.data) return <NoData query={call} />;
  const { arguments: given, result } = call.data;
  return (
    <>
      {given === null ? <p className="soft">Its arguments were not kept.</p> : <LongText text={given} />}
      {result === null ? (
        <p className="soft">It has no result yet.</p>
      ) : (
        <>
          <h3>{result.isError ? 'Error' : 'Result'}</h3>
          <LongText text={result.text} />
        </>
      )}
    </>
  );
}
