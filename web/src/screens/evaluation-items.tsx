// The items of an evaluation, the worst first, with filters in the URL; each opens beside the list.
import { getRouteApi } from '@tanstack/react-router';
import { lazy, useMemo, type ReactElement } from 'react';
import * as CHOICES from '../../../src/client/generated/choices.ts';
import { exactApi } from '../api.ts';
import { beginningOf } from '../format/long-text.ts';
import type { Column } from '../parts/data-table.tsx';
import type { List } from '../parts/list.ts';
import { ListScreen } from '../parts/list-screen.tsx';
import { Words } from '../parts/short-key.tsx';
import { ChangeChip, Passed } from './evaluation-parts.tsx';
import { primaryOf, type Compared, type Evaluation, type Grader, type Result } from './evaluation-words.ts';

const ItemPanel = lazy(async () => ({ default: (await import('./evaluation-item.tsx')).ItemPanel }));
const route = getRouteApi('/app/evaluations/$id');

/** Of a text, so much is shown. */
const SHOWN_CHARS = 300;

export function EvaluationItems({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const { candidate } = route.useSearch();
  const { id, endedAt, candidates, graders, primary } = evaluation;
  const list = useMemo(
    () => itemsOf({ candidates, graders, primary }, candidate),
    [candidates, graders, primary, candidate],
  );
  return (
    <section className="items" aria-labelledby="part">
      {/* When it has ended, its items are read again. */}
      <ListScreen list={list} fixed={{ id, endedAt: endedAt ?? '' }} />
    </section>
  );
}

function itemsOf(evaluation: Compared, chosen: string | undefined): List<Result> {
  const [baseline = '', ...compared] = evaluation.candidates.map(({ name }) => name);
  const shown = chosen ?? compared[0];
  return {
    title: 'Items',
    noun: 'item',
    key: ['evaluation-items'],
    pageSize: 50,
    read: ({ id = '', candidate, tag, change }, page, signal) =>
      exactApi.listEvaluationResults(
        // A change that the service does not know is refused by it, and shown.
        { id, candidate, tag, change: change as 'better' | 'worse' | 'same' | undefined, ...page },
        { signal },
      ),
    columns: columnsOf({ baseline, shown, grader: primaryOf(evaluation) }),
    filters: [
      ...(compared.length > 1
        ? [{ name: 'candidate', title: 'Candidate', options: compared, usual: compared[0] ?? '' }]
        : []),
      ...(compared.length > 0
        ? [{ name: 'change', title: 'Change', options: CHOICES.listEvaluationResults.change }]
        : []),
      { name: 'tag', title: 'Tag, as key:value' },
    ],
    idOf: ({ n }) => String(n),
    panel: (n, close, row) => row !== undefined && <ItemPanel key={n} {...{ row, evaluation }} onClose={close} />,
    empty: { text: 'No item fits.' },
  };
}

function columnsOf(of: { baseline: string; shown: string | undefined; grader: Grader }): readonly Column<Result>[] {
  const { baseline, shown, grader } = of;
  const passedBy = (name: string): Column<Result> => ({
    title: name,
    width: 'minmax(110px, 150px)',
    cell: ({ candidates }) => {
      const found = candidates.find((candidate) => candidate.name === name);
      return found && <Passed of={found} grader={grader} />;
    },
  });
  return [
    { title: 'Item', width: '52px', isNumber: true, cell: ({ n }) => n },
    ...(shown === undefined
      ? []
      : [
          {
            title: 'Change',
            width: '84px',
            isClear: true as const,
            cell: ({ change }: Result) => <ChangeChip change={change} />,
          },
        ]),
    {
      title: 'Input',
      width: 'minmax(160px, 4fr)',
      isClear: true,
      cell: ({ input }) =>
        input === null ? <span className="soft">erased</span> : <Words text={beginningOf(input, SHOWN_CHARS)} />,
    },
    passedBy(baseline),
    ...(shown === undefined ? [] : [passedBy(shown)]),
    {
      title: 'Tags',
      width: 'minmax(100px, 1.2fr)',
      yields: true,
      cell: ({ tags }) => <Words text={tagsText(tags)} />,
    },
  ];
}

const tagsText = (tags: Result['tags']): string =>
  Object.entries(tags)
    .map(([key, value]) => `${key}: ${value}`)
    .join(', ');
