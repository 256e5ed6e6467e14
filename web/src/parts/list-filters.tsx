// What is above the rows of a list: its filters, the views that this browser keeps, its columns. On
// a phone it is behind one button.
import { Link } from '@tanstack/react-router';
import { useId, useState, type ReactElement, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { Choice, Filters, FoundChoice, TextFilter, TimeFilter } from '../screens/filters.tsx';
import { BulkBar } from './bulk-bar.tsx';
import { ColumnChooser } from './chosen-columns.tsx';
import { CopyButton } from './copy-button.tsx';
import { CopyRow } from './copy-row.tsx';
import type { Column } from './data-table.tsx';
import { Field } from './fields.tsx';
import type { Filter, List, Search } from './list.ts';
import type { ListState } from './list-state.ts';
import { SafeText } from './safe-text.tsx';

/** A list with so few filters needs no names for them. */
const VIEWS_FROM = 3;

interface ToolsProps<Row> {
  list: List<Row>;
  state: ListState<Row>;
  all: readonly Column<Row>[];
  current: Row | undefined;
}

export function ListTools<Row>({ list, state, all, current }: ToolsProps<Row>): ReactElement {
  const { filters, change, clear, memory, remember, selected, setSelected } = state;
  const fieldOf = (filter: Filter): ReactElement => (
    <FilterField key={filter.name} {...filter} value={filters[filter.name]} change={change} />
  );
  const isRare = ({ isRare: rare, name }: Filter): boolean => rare === true && filters[name] === undefined;
  const rare = list.filters.filter(isRare);
  const set = Object.keys(filters).length;
  const content = (
    <div className="list-tools">
      <Filters>
        {list.filters.filter((filter) => !isRare(filter)).map(fieldOf)}
        {rare.length > 0 && <MoreFilters>{rare.map(fieldOf)}</MoreFilters>}
        {set > 0 && list.filters.length > 1 && <Button onClick={clear}>Clear</Button>}
        <span className="row end">
          {list.filters.length > VIEWS_FROM && <Views {...{ memory, remember }} />}
          {list.hasChooser && (
            <ColumnChooser
              all={all}
              choice={state.choice ?? memory.columns}
              onChange={(columns) => {
                remember({ columns, ...(columns === undefined ? { widths: {} } : {}) });
                change({ columns }, true);
              }}
            />
          )}
          {list.copied && <CopyRow kind={list.noun} current={current && list.copied(current)} />}
          {list.bulk && (
            <BulkBar
              target={list.bulk.target}
              actions={list.bulk.actions}
              selected={selected}
              filter={list.bulk.filterOf(filters)}
              onDone={() => setSelected(new Set())}
            />
          )}
        </span>
      </Filters>
    </div>
  );
  if (!matchMedia('(max-width: 640px)').matches) return content;
  return (
    <details className="list-fold">
      <summary className="button">Filters{set > 0 && ` (${set})`}</summary>
      {content}
    </details>
  );
}

/** The filters that few people need; one that is set stands with the others. */
function MoreFilters({ children }: { children: ReactNode }): ReactElement {
  const id = useId();
  return (
    <>
      <Button popoverTarget={id}>More filters</Button>
      <div id={id} popover="auto" className="chooser panel" role="group" aria-label="More filters">
        {children}
      </div>
    </>
  );
}

function FilterField(props: Filter & { value: string | undefined; change: (part: Search) => void }): ReactElement {
  const { name, title, options, usual, value, change } = props;
  const field = { name: title, value, onChange: (next: string | undefined) => change({ [name]: next }) };
  if (options === undefined) return <TextFilter {...field} />;
  if (options === 'times') return <TimeFilter {...field} />;
  if (typeof options === 'string') return <FoundChoice {...field} of={options} />;
  return <Choice {...field} options={options} {...(usual === undefined ? {} : { usual })} />;
}

/** Filters under a name: links, so they can be opened in another tab, and copied for others. */
function Views({ memory, remember }: Pick<ListState<never>, 'memory' | 'remember'>): ReactElement {
  const id = useId();
  const [name, setName] = useState('');
  const views = Object.entries(memory.views ?? {});
  return (
    <>
      <Button popoverTarget={id}>Views{views.length > 0 && ` (${views.length})`}</Button>
      <div id={id} popover="auto" className="chooser panel" role="group" aria-label="Views">
        {views.map(([view, query]) => (
          <span key={view} className="row">
            <Link to="." search={Object.fromEntries(new URLSearchParams(query)) as never}>
              <SafeText text={view} />
            </Link>
            <Button onClick={() => remember({ views: Object.fromEntries(views.filter(([each]) => each !== view)) })}>
              Remove <span className="hidden-visually">{view}</span>
            </Button>
          </span>
        ))}
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault();
            remember({ views: { ...memory.views, [name.trim()]: location.search } });
            setName('');
          }}
        >
          <Field required name="Name of the view" maxLength={60} value={name} onChange={setName} />
          <Button type="submit">Save these filters</Button>
        </form>
        <CopyButton name="Copy link" text={() => location.href} />
      </div>
    </>
  );
}
