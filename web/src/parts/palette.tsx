// The command palette: one field that leads to any screen or thing, and presses the buttons of the
// page. A combobox whose list box is always open: the field keeps the focus, the arrows move
// through the list.
import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactElement } from 'react';
import { actionItems, foundItems, recentPaletteItems, screenItems, type PaletteItem } from './palette-items.ts';
import { Dialog } from './dialog.tsx';
import { SafeText } from './safe-text.tsx';
import { useQuiet } from './use-quiet.ts';

const SEARCHED_CHARS_MIN = 2;

export function Palette(props: {
  screens: readonly { to: string; name: string }[];
  onClose: () => void;
}): ReactElement {
  const { screens, onClose } = props;
  const { history } = useRouter();
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useId();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  // The page does not change while the palette is open over it.
  const [offered] = useState(() => [...recentPaletteItems(), ...screenItems(screens), ...actionItems()]);
  const sought = useQuiet(text.trim());
  const found = useQuery({
    queryKey: ['palette', sought],
    queryFn: ({ signal }) => foundItems(sought, signal),
    enabled: sought.length >= SEARCHED_CHARS_MIN,
  });

  const words = text.trim().toLowerCase();
  const fitting = offered.filter(({ name, group }) => `${group} ${name}`.toLowerCase().includes(words));
  const items = [...fitting, ...(words === '' ? [] : (found.data ?? []))];
  const current = items[Math.min(at, items.length - 1)];

  function choose(item: PaletteItem | undefined): void {
    if (item === undefined) return;
    dialog.current?.close();
    if (typeof item.to === 'string') history.push(item.to);
    else item.to();
  }

  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setAt((Math.min(at, items.length - 1) + step + items.length) % Math.max(1, items.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      choose(current);
    }
  }

  return (
    <Dialog className="palette" ref={dialog} onClose={onClose} aria-label="Go to or do">
      <input
        role="combobox"
        aria-expanded
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={current === undefined ? undefined : `${list}-${items.indexOf(current)}`}
        aria-label="Screen, action, id, key or words"
        placeholder="Screen, action, id, key or words"
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <Options list={list} items={items} current={current} onChoose={choose} />
      <p className="soft" role="status">
        {countOf(items.length, found.isFetching, found.isError)}
      </p>
    </Dialog>
  );
}

function countOf(count: number, isSearching: boolean, isFailed: boolean): string {
  if (isSearching) return 'Searching…';
  if (isFailed) return 'The service did not answer the search.';
  return count === 0 ? 'Nothing fits.' : `${count} found`;
}

function Options(props: {
  list: string;
  items: readonly PaletteItem[];
  current: PaletteItem | undefined;
  onChoose: (item: PaletteItem) => void;
}): ReactElement {
  const { list, items, current, onChoose } = props;
  const box = useRef<HTMLUListElement>(null);
  useEffect(() => {
    // Newer browsers answer a promise, which is no clean-up.
    box.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  });
  return (
    <ul ref={box} id={list} role="listbox" aria-label="What fits">
      {items.map((item, n) => (
        <li
          key={item.id}
          id={`${list}-${n}`}
          role="option"
          aria-selected={item === current}
          // Pressing the mouse would take the focus from the field.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(item)}
        >
          <span className="soft">{item.group}</span> <SafeText text={item.name} />{' '}
          {item.note !== undefined && (
            <span className="soft">
              <SafeText text={item.note} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
