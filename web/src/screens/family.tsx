// The family of a session: all runs of subagents below its root, their usage, how their ends were announced, and actions to steer and to stop them.
import { useQuery, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo, useState, type ReactElement } from 'react';
import { api, type FamilyRun } from '../api.ts';
import { countText } from '../format/amounts.ts';
import { activeAbove, nameOf, runningBelow } from '../format/family.ts';
import { me } from '../me.ts';
import { Cost, Empty, Fact } from '../parts/bits.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { haveBegun, Loading } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { FamilyTree } from './family-tree.tsx';

const route = getRouteApi('/app/sessions/$key/family');

type FamilyData = Awaited<ReturnType<typeof api.getFamily>>;
/** The subject of the confirmation; `stop` without a run: all of them. */
type Question = { kind: 'steer'; run: FamilyRun } | { kind: 'stop'; run: FamilyRun | null };

export function Family(): ReactElement {
  const { key } = route.useParams();
  // Below `session`, so that events of turns and messages read it again.
  const family = useQuery({ queryKey: ['session', 'family', key], queryFn: () => api.getFamily({ key }) });
  const { data } = family;
  return (
    <>
      <h1>Family</h1>
      {!haveBegun(family) && <Loading />}
      {family.isError && <Problem error={family.error} onRetry={() => void family.refetch()} />}
      {data !== undefined && <FamilyView family={data} sessionKey={key} />}
    </>
  );
}

function FamilyView({ family, sessionKey }: { family: FamilyData; sessionKey: string }): ReactElement {
  const { data: who } = useSuspenseQuery(me);
  const [question, setQuestion] = useState<Question | null>(null);
  const [result, setResult] = useState('');
  const { items } = family;
  const actions = useMemo(
    () => ({
      steer: (run: FamilyRun) => setQuestion({ kind: 'steer', run }),
      stop: (run: FamilyRun) => setQuestion({ kind: 'stop', run }),
      runningOf: (run: FamilyRun) => runningBelow(items, run).count,
    }),
    [items],
  );
  const close = (): void => setQuestion(null);
  const running = runningBelow(items, null).count;
  const isOperator = who.role !== 'viewer';
  return (
    <>
      <FamilyFacts family={family} running={running} />
      {isOperator && (
        <div className="row">
          {running > 0 && (
            <button
              type="button"
              className="button"
              data-tone="bad"
              onClick={() => setQuestion({ kind: 'stop', run: null })}
            >
              Stop all that run…
            </button>
          )}
          <p role="status">{result}</p>
        </div>
      )}
      {items.length === 0 ? (
        <Empty command={`npx holdfast spawn ${commandWord(family.rootKey)} 'Count the files.'`}>
          This session has no subagents. An agent spawns them with its tool <code>sessions_spawn</code>, and a person
          with this command; each works in a session of its own and announces its result here.
        </Empty>
      ) : (
        <FamilyTree runs={items} sessionKey={sessionKey} actions={isOperator ? actions : undefined} />
      )}
      {question?.kind === 'steer' && <Steer run={question.run} onClose={close} onDone={setResult} />}
      {question?.kind === 'stop' && <Stop runs={items} top={question.run} onClose={close} onDone={setResult} />}
    </>
  );
}

/** A session key as a word of a shell. */
function commandWord(key: string): string {
  return /^[\w:.-]+$/.test(key) ? key : `'${key.replaceAll("'", String.raw`'\''`)}'`;
}

function FamilyFacts({ family, running }: { family: FamilyData; running: number }): ReactElement {
  const { rootKey, root, items, isCapped } = family;
  const ofRoot = items.filter(({ parentRunId }) => parentRunId === null);
  const all = [root, ...ofRoot.map(({ subtree }) => subtree)];
  const costs = all.map(({ costMicros: micros }) => micros).filter((micros) => micros !== null);
  const costMicros = costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0);
  const tokens = all.reduce((sum, used) => sum + used.tokens.input + used.tokens.output, 0);
  return (
    <dl className="facts panel">
      <Fact name="Root">
        <Link to="/sessions/$key" params={{ key: rootKey }}>
          <SafeText text={rootKey} />
        </Link>
      </Fact>
      <Fact name="Runs">
        {countText(items.length)}
        {isCapped && ' are shown, and there are more'}, {countText(running)} running
      </Fact>
      <Fact name="Root alone">
        <Cost of={root} />, {countText(root.tokens.input + root.tokens.output)} tokens
      </Fact>
      <Fact name="Whole family">
        <Cost of={{ costMicros, simulated: all.some(({ simulated }) => simulated) }} />, {countText(tokens)} tokens
      </Fact>
    </dl>
  );
}

interface QuestionProps {
  onClose: () => void;
  /** Called with a description of what was done. */
  onDone: (result: string) => void;
}

const STEERED = {
  joins: 'The message joins its running turn.',
  waits: 'The message waits for its next turn.',
  again: 'The run had ended; the subagent has begun another one with the message.',
} as const;

function Steer({ run, onClose, onDone }: QuestionProps & { run: FamilyRun }): ReactElement {
  const queries = useQueryClient();
  const [text, setText] = useState('');
  return (
    <Confirm
      title="Steer this run"
      verb="Send"
      tone="main"
      onClose={onClose}
      perform={async () => {
        const { how } = await api.steerSubagent({ runId: run.runId, body: { text } });
        onDone(STEERED[how]);
        void queries.invalidateQueries({ queryKey: ['session'] });
      }}
    >
      <p>
        <SafeText text={nameOf(run)} /> receives it as a message, in its running turn if it has one.
      </p>
      <label className="field">
        Text
        <textarea required value={text} onChange={(event) => setText(event.target.value)} />
      </label>
    </Confirm>
  );
}

/** A run ends with all that run below it, or alone. Where the run itself has ended, each that runs below it is stopped. */
function Stop({
  runs,
  top,
  onClose,
  onDone,
}: QuestionProps & { runs: readonly FamilyRun[]; top: FamilyRun | null }): ReactElement {
  const queries = useQueryClient();
  const [keepsBelow, setKeepsBelow] = useState(false);
  const now = runs.find(({ runId }) => runId === top?.runId) ?? null;
  const all = runningBelow(runs, now);
  const below = now?.status === 'running' ? all.count - 1 : 0;
  const isAlone = keepsBelow && now?.status === 'running';
  const count = isAlone ? 1 : all.count;
  return (
    <Confirm
      title={`Stop ${runsText(count)}?`}
      verb={`Stop ${runsText(count)}`}
      onClose={onClose}
      perform={async () => {
        let ended = 0;
        try {
          for (const { runId } of all.topmost) {
            ended += (await api.killSubagent({ runId, body: isAlone ? { below: 'keep' } : {} })).killed;
          }
        } finally {
          onDone(ended === 1 ? '1 run was stopped.' : `${countText(ended)} runs were stopped.`);
          void queries.invalidateQueries({ queryKey: ['session'] });
        }
      }}
    >
      {below > 0 && (
        <label className="field">
          Scope
          <select value={String(keepsBelow)} onChange={({ target }) => setKeepsBelow(target.value === 'true')}>
            <option value="false">the run and all that run below it: {runsText(all.count)}</option>
            <option value="true">the run alone: {runsText(1)}</option>
          </select>
        </label>
      )}
      {isAlone && below > 0 ? (
        <AloneScope run={now} below={below} recipient={activeAbove(runs, now)} />
      ) : (
        <p>
          <Scope top={now} count={count} /> Their turns are aborted, and messages that wait for them are cancelled.
        </p>
      )}
    </Confirm>
  );
}

function runsText(count: number): string {
  return count === 1 ? '1 run' : `${countText(count)} runs`;
}

interface AloneScopeProps {
  run: FamilyRun;
  /** How many runs below it continue. */
  below: number;
  /** The run that receives their results; null: the root. */
  recipient: FamilyRun | null;
}

function AloneScope({ run, below, recipient }: AloneScopeProps): ReactElement {
  return (
    <p>
      <SafeText text={nameOf(run)} /> alone. Its turn is aborted, and messages that wait for it are cancelled, also
      results that it has not read. The {runsText(below)} below it {below === 1 ? 'continues' : 'continue'}, and results
      go to {recipient === null ? 'the root session' : <SafeText text={nameOf(recipient)} />}.
    </p>
  );
}

function Scope({ top, count }: { top: FamilyRun | null; count: number }): ReactElement {
  if (top === null) return <>All runs of this family that have not ended.</>;
  const name = <SafeText text={nameOf(top)} />;
  const isRunning = top.status === 'running';
  const below = isRunning ? count - 1 : count;
  if (below === 0) return <>{name} alone: nothing runs below it.</>;
  const runs = below === 1 ? '1 run that runs' : `${countText(below)} runs that run`;
  return isRunning ? (
    <>
      {name} and {runs} below it.
    </>
  ) : (
    <>
      {runs} below {name}, which has ended itself.
    </>
  );
}
