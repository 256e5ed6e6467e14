// The family of a session: all runs of subagents below its root, their usage, how their ends were
// announced, and actions to steer and to stop them.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo, useState, type ReactElement } from 'react';
import { api, type FamilyRun } from '../api.ts';
import { countText, namedCountText } from '../format/amounts.ts';
import { activeAbove, nameOf, runningBelow } from '../format/family.ts';
import { useCanAct } from '../me.ts';
import { Cost, Empty, Facts } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { quoted } from '../parts/copy-row.tsx';
import { LongField, Select } from '../parts/fields.tsx';
import { KeyLink } from '../parts/links.tsx';
import { Fault, haveBegun, Loading } from '../parts/loading.tsx';
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
      <Fault query={family} />
      {data !== undefined && <FamilyView family={data} sessionKey={key} />}
    </>
  );
}

function FamilyView({ family, sessionKey }: { family: FamilyData; sessionKey: string }): ReactElement {
  const canAct = useCanAct();
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
  return (
    <>
      <FamilyFacts family={family} running={running} />
      {canAct && (
        <div className="row">
          {running > 0 && (
            <Button tone="bad" onClick={() => setQuestion({ kind: 'stop', run: null })}>
              Stop all that run…
            </Button>
          )}
          <p role="status">{result}</p>
        </div>
      )}
      {items.length === 0 ? (
        <Empty command={`npx holdfast spawn ${quoted(family.rootKey)} 'Count the files.'`}>
          This session has no subagents. An agent spawns them with its tool <code>sessions_spawn</code>, and a person
          with this command; each works in a session of its own and announces its result here.
        </Empty>
      ) : (
        <FamilyTree runs={items} sessionKey={sessionKey} actions={canAct ? actions : undefined} />
      )}
      {question?.kind === 'steer' && <Steer run={question.run} onClose={close} onDone={setResult} />}
      {question?.kind === 'stop' && <Stop runs={items} top={question.run} onClose={close} onDone={setResult} />}
    </>
  );
}

function FamilyFacts({ family, running }: { family: FamilyData; running: number }): ReactElement {
  const { rootKey, root, items, isCapped } = family;
  const ofRoot = items.filter(({ parentRunId }) => parentRunId === null);
  const all = [root, ...ofRoot.map(({ subtree }) => subtree)];
  const costs = all.map(({ costMicros: micros }) => micros).filter((micros) => micros !== null);
  const costMicros = costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0);
  const tokens = all.reduce((sum, used) => sum + used.tokens.input + used.tokens.output, 0);
  return (
    <Facts
      className="panel"
      facts={{
        'Root session': <KeyLink sessionKey={rootKey} />,
        Subagents: `${countText(items.length)}${isCapped ? ' are shown, and there are more' : ''}; ${countText(running)} running`,
        'Cost of the root': (
          <>
            <Cost of={root} />, {countText(root.tokens.input + root.tokens.output)} tokens
          </>
        ),
        'Cost of the family': (
          <>
            <Cost of={{ costMicros, simulated: all.some(({ simulated }) => simulated) }} />, {countText(tokens)} tokens
          </>
        ),
      }}
    />
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
      verb="Steer the run"
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
      <LongField name="Text" required value={text} onChange={setText} />
    </Confirm>
  );
}

/**
 * A run ends with all that run below it, or alone. Where the run itself has ended, each that runs
 * below it is stopped.
 */
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
          onDone(`${runsText(ended)} ${ended === 1 ? 'was' : 'were'} stopped.`);
          void queries.invalidateQueries({ queryKey: ['session'] });
        }
      }}
    >
      {below > 0 && (
        <Select
          name="Scope"
          value={String(keepsBelow)}
          options={{ false: `the run and all that run below it: ${runsText(all.count)}`, true: 'the run alone: 1 run' }}
          onChange={(choice) => setKeepsBelow(choice === 'true')}
        />
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

const runsText = (count: number): string => namedCountText(count, 'run');

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
