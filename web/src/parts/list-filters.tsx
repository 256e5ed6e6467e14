// What is above the rows of a list: its filters, the views that this browser keeps, its columns. On a phone it is behind one button.
import { Link } from '@tanstack/react-router';
import { useId, useState, type ReactElement, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { Field } from './fields.tsx';
import { Filters } from '../screens/filters.tsx';
import { CopyButton } from './copy-button.tsx';
import type { useMemory } from './list-memory.ts';
import { SafeText } from './safe-text.tsx';

type Memory = ReturnType<typeof useMemory>;
interface ViewsProps {
  memory: Memory[0];
  remember: Memory[1];
}

interface ListFiltersProps extends ViewsProps {
  /** How many filters have a value. */
  set: number;
  hasViews: boolean;
  chooser: ReactNode;
  /** Filters that few people need. */
  rare: readonly ReactNode[];
  isRareOpen: boolean;
  tools: ReactNode;
  children: readonly ReactNode[];
}

export function ListFilters(props: ListFiltersProps): ReactElement {
  const { set, hasViews, chooser, rare, isRareOpen, tools, children, ...views } = props;
  const content = (
    <div className="list-tools">
      <Filters>
        {children}
        {rare.length > 0 && (
          <details open={isRareOpen}>
            <summary>More filters</summary>
            <div className="filters">{rare}</div>
          </details>
        )}
        {hasViews && <Views {...views} />}
        {chooser}
      </Filters>
      <div className="row">{tools}</div>
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

/** Filters under a name: links, so they can be opened in another tab, and copied for others. */
function Views({ memory, remember }: ViewsProps): ReactElement {
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
          <Field name="Name of the view" required maxLength={60} value={name} onChange={setName} />
          <Button type="submit">Save these filters</Button>
        </form>
        <CopyButton name="Copy link" text={() => location.href} />
      </div>
    </>
  );
}
