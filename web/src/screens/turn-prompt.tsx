// What a turn answers: the parts of its prompt, and the messages and system events that they come
// from.
import type { ReactElement } from 'react';
import type { Turn } from '../api.ts';
import { partText } from '../format/request-text.ts';
import { Age, Chip, Empty, Status } from '../parts/bits.tsx';
import { NoData } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { LongText } from '../parts/safe-text.tsx';
import { PartBlock, useRequest } from './request.tsx';
import { CauseLink, useInputs } from './turn-words.tsx';

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
    <Panel title="Parts of the prompt">
      {own.length === 0 && <Empty>The prompt is not in the first request.</Empty>}
      {own.map((part) => (
        <PartBlock
          key={`${part.path} ${part.span?.start ?? ''} ${part.name}`}
          part={part}
          text={partText(body, part)}
          isNew={false}
        />
      ))}
    </Panel>
  );
}

function Sources({ turn }: { turn: Turn }): ReactElement {
  const inputs = useInputs(turn);
  if (inputs.isError || inputs.data === undefined) return <NoData query={inputs} />;
  const { messages, systemEvents } = inputs.data;
  return (
    <>
      <Panel title="Messages">
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
      </Panel>
      {systemEvents.length > 0 && (
        <Panel title="System events">
          {systemEvents.map(({ id, text, state, trusted, createdAt }) => (
            <article className="entry" key={id}>
              <header>
                <Age at={createdAt} />
                <Status status={state} />
                {!trusted && <Chip tone="bad">untrusted</Chip>}
              </header>
              <LongText text={text} />
            </article>
          ))}
        </Panel>
      )}
    </>
  );
}
