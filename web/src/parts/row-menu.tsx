// The actions on one row of a list: a button in the row, and the menu that it opens.
import { Ellipsis } from 'lucide-react';
import { useId, useRef, type ReactElement } from 'react';
import { Button } from './button.tsx';
import { SafeText } from './safe-text.tsx';

export interface RowAction {
  name: string;
  /** `bad`: it cannot be undone. */
  tone?: 'bad' | undefined;
  onChoose: () => void;
}

/** What can be done to a row, and its name; absent: the screen is about nothing else. */
export interface RowActions {
  of?: string;
  actions: readonly RowAction[];
}

/** The name of the row is in the name of each button, so that each can be told apart. */
export function RowMenu({ of, actions }: RowActions): ReactElement {
  const id = useId();
  const menu = useRef<HTMLDivElement>(null);
  const name = of !== undefined && (
    <span className="hidden-visually">
      {' '}
      <SafeText text={of} />
    </span>
  );
  return (
    <span>
      <button type="button" className="icon-button" data-palette id={`${id}-opener`} popoverTarget={id} title="Actions">
        <Ellipsis size={16} />
        <span className="hidden-visually">Actions…</span>
        {name}
      </button>
      <div
        id={id}
        ref={menu}
        popover="auto"
        className="chooser panel row-menu"
        role="group"
        aria-labelledby={`${id}-opener`}
        // Keys in the menu do not move to another row.
        onKeyDown={(event) => event.stopPropagation()}
      >
        {actions.map(({ name: action, tone, onChoose }) => (
          <Button
            key={action}
            tone={tone}
            onClick={() => {
              // First: it returns the focus to the button in the row, which a dialog returns it to
              // later.
              menu.current?.hidePopover();
              onChoose();
            }}
          >
            {action}
            {name}
          </Button>
        ))}
      </div>
    </span>
  );
}
