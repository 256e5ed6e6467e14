// The arguments and the result of a tool call, loaded when it is opened.
import { queryOptions, useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { api } from '../api.ts';
import { NoData } from '../parts/loading.tsx';
import { Arguments, ResultText } from '../words/tool-line.tsx';

/** The call; of no call nothing is read. */
export function toolCallQuery(place: { id: string; callId: string } | null) {
  return queryOptions({
    queryKey: ['tool-call', place?.id, place?.callId],
    queryFn: () => (place === null ? Promise.resolve(null) : api.getToolCall(place)),
  });
}

export function LoadedDetails(place: { id: string; callId: string }): ReactElement {
  const call = useQuery(toolCallQuery(place));
  if (call.isError || !call.data) return <NoData query={call} />;
  const { arguments: given, result } = call.data;
  return (
    <>
      {given === null ? (
        <p className="soft">Its arguments were not kept.</p>
      ) : (
        <Arguments input={given} place={place.callId} />
      )}
      {result === null ? (
        <p className="soft">It has no result yet.</p>
      ) : (
        <>
          <h3>{result.isError ? 'Error' : 'Result'}</h3>
          <ResultText text={result.text} place={place.callId} />
        </>
      )}
    </>
  );
}
