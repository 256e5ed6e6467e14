// All evaluations, newest first: what was compared, how far it is, and whether it is better. Beside
// them the data sets whose items they ask again.
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { api } from '../api.ts';
import { columnUsdText, countText, usdText } from '../format/amounts.ts';
import { Age } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import type { Column } from '../parts/data-table.tsx';
import { DialogButton } from '../parts/dialog-button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { AgentLink } from '../parts/links.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { SafeText } from '../parts/safe-text.tsx';
import { EvaluationStatus, Progress, Verdict } from './evaluation-parts.tsx';
import { isOpen, type Evaluation } from './evaluation-words.ts';
import '../styles/evaluations.css';

type DataSet = Awaited<ReturnType<typeof api.listDatasets>>['items'][number];

const route = getRouteApi('/app/evaluations');
/** There are no events about evaluations. */
const OPEN_REREAD_MS = 3_000;
const REREAD_MS = 30_000;

const CREATE = 'npx holdfast datasets create refunds';
const ADD = 'npx holdfast datasets add refunds --filter score=thumb:false since=7d';
const RUN = 'npx holdfast eval run haiku.json5';
const FILE = `{
  dataset: 'refunds',
  candidates: [
    { name: 'as-recorded' },
    { name: 'haiku', model: 'anthropic/claude-haiku-4-5' },
  ],
  graders: [{ type: 'tools' }],
}`;

const COLUMNS: readonly Column<Evaluation>[] = [
  { title: 'Status', width: '92px', isClear: true, cell: (evaluation) => <EvaluationStatus of={evaluation} /> },
  {
    title: 'Evaluation',
    width: 'minmax(120px, 2fr)',
    isClear: true,
    cell: ({ id, name }) => (
      <Link to="/evaluations/$id" params={{ id }}>
        <SafeText text={name ?? `evaluation ${id.slice(-6)}`} />
      </Link>
    ),
  },
  {
    title: 'Data set',
    width: 'minmax(150px, 1.8fr)',
    cell: ({ dataset }) => (
      <>
        <SafeText text={dataset.name} /> <span className="soft">v{dataset.version}</span>
      </>
    ),
  },
  {
    title: 'Candidates',
    width: 'minmax(110px, 1.6fr)',
    cell: ({ candidates }) => <SafeText text={candidates.map(({ name }) => name).join(', ')} />,
  },
  {
    title: 'Ended runs',
    width: 'minmax(168px, 1fr)',
    cell: (evaluation) =>
      isOpen(evaluation) ? (
        <Progress of={evaluation} />
      ) : (
        `${countText(evaluation.counts.ended)} of ${countText(evaluation.counts.runs)}`
      ),
  },
  { title: 'Verdict', width: 'minmax(150px, 1.6fr)', cell: (evaluation) => <Verdicts of={evaluation} /> },
  {
    title: 'Cost of cap',
    width: '132px',
    isNumber: true,
    cell: ({ costUsd, costCapUsd }) => (
      <>
        {columnUsdText(costUsd)}
        {costCapUsd !== null && ` of ${usdText(costCapUsd)}`}
      </>
    ),
  },
  { title: 'Started', width: '80px', cell: ({ createdAt }) => <Age at={createdAt} /> },
];

/** Of one compared candidate its verdict, of several each with its name. */
function Verdicts({ of: { results } }: { of: Evaluation }): ReactElement {
  const compared = results.filter(({ comparison }) => comparison !== null);
  if (compared.length === 0) return <span className="soft">—</span>;
  return (
    <span className="verdicts">
      {compared.map(({ name, comparison }) => (
        <span key={name}>
          {comparison !== null && <Verdict verdict={comparison.verdict} />}
          {compared.length > 1 && (
            <small className="soft">
              {' '}
              <SafeText text={name} />
            </small>
          )}
        </span>
      ))}
    </span>
  );
}

const EVALUATIONS: List<Evaluation> = {
  title: 'Evaluations',
  noun: 'evaluation',
  key: ['evaluations', 'list'],
  pageSize: 50,
  read: ({ status, dataset }, page, signal) =>
    // A state that the service does not know is refused by it, and shown.
    api.listEvaluations({ status: status as Evaluation['status'], dataset, ...page }, { signal }),
  rereadMs: (rows) => (rows.some(isOpen) ? OPEN_REREAD_MS : REREAD_MS),
  columns: COLUMNS,
  filters: [
    { name: 'status', title: 'Status', options: CHOICES.listEvaluations.status },
    { name: 'dataset', title: 'Data set' },
  ],
  idOf: ({ id }) => id,
  pathOf: ({ id }) => `/evaluations/${id}`,
  copied: (row) => ({
    id: row.id,
    path: `/v1/evaluations/${row.id}`,
    command: `npx holdfast eval show ${row.id}`,
    row,
  }),
  empty: {
    text: 'Nothing was evaluated yet. An evaluation asks the items of a data set again with a change, and says whether the change is better. The button above shows how to begin; this command starts one:',
    command: RUN,
  },
};

const SET_COLUMNS: readonly Column<DataSet>[] = [
  {
    title: 'Data set',
    width: 'minmax(120px, 1.4fr)',
    isClear: true,
    cell: ({ name }) => (
      <Link to="/evaluations" search={{ dataset: name }}>
        <SafeText text={name} />
      </Link>
    ),
  },
  {
    title: 'Description',
    width: 'minmax(120px, 2.4fr)',
    isClear: true,
    cell: ({ description }) => <SafeText text={description ?? ''} />,
  },
  { title: 'Agent', width: 'minmax(80px, 1fr)', cell: ({ agentId }) => <AgentLink id={agentId} /> },
  { title: 'Version', width: '60px', isNumber: true, cell: ({ version }) => version },
  { title: 'Ready', width: '64px', isNumber: true, cell: ({ counts }) => countText(counts.ready) },
  { title: 'Held back', width: '72px', isNumber: true, cell: ({ counts }) => countText(counts.heldBack) },
  { title: 'Copying', width: '64px', isNumber: true, cell: ({ counts }) => countText(counts.copying) },
  { title: 'Excluded', width: '70px', isNumber: true, cell: ({ counts }) => countText(counts.excluded) },
  { title: 'Erased', width: '60px', isNumber: true, cell: ({ counts }) => countText(counts.erased) },
  { title: 'Changed', width: '80px', cell: ({ updatedAt }) => <Age at={updatedAt} /> },
];

const DATA_SETS: List<DataSet> = {
  title: 'Data sets',
  noun: 'data set',
  key: ['datasets', 'list'],
  read: (_search, page, signal) => api.listDatasets(page, { signal }),
  rereadMs: () => REREAD_MS,
  columns: SET_COLUMNS,
  filters: [],
  idOf: ({ id }) => id,
  pathOf: ({ name }) => `/evaluations?dataset=${encodeURIComponent(name)}`,
  copied: (row) => ({
    id: row.id,
    path: `/v1/datasets/${row.id}`,
    command: `npx holdfast datasets show ${row.name}`,
    row,
  }),
  empty: {
    text: 'There is no data set yet. A data set has the cases that evaluations ask again: copies of turns, or lines of a file. This command makes one:',
    command: CREATE,
  },
};

export function Evaluations(): ReactElement {
  const { tab } = route.useSearch();
  const buttons = (
    <DialogButton dialog={(close) => <HowToStart onClose={close} />}>
      {tab === 'datasets' ? 'Add items…' : 'Start an evaluation…'}
    </DialogButton>
  );
  return tab === 'datasets' ? (
    <ListScreen key="datasets" list={DATA_SETS} above={<Tabs isOfSets />} buttons={buttons} />
  ) : (
    <ListScreen key="evaluations" list={EVALUATIONS} above={<Tabs />} buttons={buttons} />
  );
}

function Tabs({ isOfSets = false }: { isOfSets?: boolean }): ReactElement {
  return (
    <nav className="tabs" aria-label="Evaluations and data sets">
      <Link
        to="/evaluations"
        aria-current={isOfSets ? undefined : 'page'}
        activeOptions={{ exact: true, includeSearch: true }}
      >
        Evaluations
      </Link>
      <Link
        to="/evaluations"
        search={{ tab: 'datasets' }}
        aria-current={isOfSets ? 'page' : undefined}
        activeOptions={{ includeSearch: true }}
      >
        Data sets
      </Link>
    </nav>
  );
}

/** The commands: an evaluation is kept in a file, beside the code that it is about. */
function HowToStart({ onClose }: { onClose: () => void }): ReactElement {
  return (
    <Dialog onClose={onClose} aria-labelledby="how-to-start">
      <div className="how-to-start">
        <h2 id="how-to-start">From turns to an answer</h2>
        <ol>
          <li>
            <h3>Make a data set</h3>
            <p className="soft">It has an agent, and can hold back a part for a last check.</p>
            <Copied name="Copy the first command" text={CREATE} />
          </li>
          <li>
            <h3>Add turns that people have disliked</h3>
            <p className="soft">
              Or the lines of a file, with <code>--file cases.jsonl</code>.
            </p>
            <Copied name="Copy the second command" text={ADD} />
          </li>
          <li>
            <h3>Write down what is compared</h3>
            <p className="soft">
              Here in <code>haiku.json5</code>: the recorded requests, once as they were and once with another model. No
              tool runs: calls get their recorded results.
            </p>
            <Copied name="Copy the file" text={FILE} />
          </li>
          <li>
            <h3>Run it</h3>
            <Copied name="Copy the last command" text={RUN} />
          </li>
        </ol>
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

function Copied({ name, text }: { name: string; text: string }): ReactElement {
  return (
    <>
      <pre>{text}</pre>
      <CopyButton name={name} text={() => text} />
    </>
  );
}
