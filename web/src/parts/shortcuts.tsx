// The keys of every screen, and the help that lists them.
import { useRouter } from '@tanstack/react-router';
import { useEffect, useState, type ReactElement } from 'react';
import { Button } from './button.tsx';
import { useSettings } from '../settings.tsx';
import { Dialog } from './dialog.tsx';

interface KeyedScreen {
  to: string;
  name: string;
  /** Goes there after `g`. */
  key: string;
}

/** The first of two keys: `g t` goes to the turns. */
const GO_MS = 1_500;

const FILTER = 'main .filters :is(input, select)';
const ROW = 'main :is(.table [role="row"], .hits li, [role="feed"])';

/** Keys, what they do, and what the screen has for them to do something. */
const KEYS = [
  ['j k ↑ ↓', 'the next and the previous one', ROW],
  ['Enter', 'open the row', ROW],
  ['x', 'select the row', 'main .table [aria-selected]'],
  ['/', 'the first filter', FILTER],
  ['/', 'search for words', `body:not(:has(${FILTER}))`],
  ['Ctrl K, ⌘ K', 'go to a screen, a thing or words, or press a button', 'body'],
  ['?', 'this help', 'body'],
] as const;

/**
 * The keys that work on the screen, and the way to switch those off that are one letter (WCAG
 * 2.1.4).
 */
export function Help({ screens, onClose }: { screens: readonly KeyedScreen[]; onClose: () => void }): ReactElement {
  const { hasShortcuts, change } = useSettings();
  const [here] = useState(() => KEYS.filter(([, , on]) => document.querySelector(on) !== null));
  return (
    <Dialog className="help" onClose={onClose} aria-labelledby="help-title">
      <form method="dialog">
        <h2 id="help-title">Keys</h2>
        <h3>On this screen</h3>
        <KeyList keys={here.map(([keys, does]) => [keys, does])} />
        <h3>To a screen</h3>
        <KeyList keys={screens.map(({ key, name }) => [`g ${key}`, name])} />
        <label className="row">
          <input
            type="checkbox"
            checked={hasShortcuts}
            onChange={(event) => change({ hasShortcuts: event.target.checked })}
          />
          Keys without Ctrl or Alt do something
        </label>
        <Button type="submit">Close</Button>
      </form>
    </Dialog>
  );
}

function KeyList({ keys }: { keys: readonly (readonly [string, string])[] }): ReactElement {
  return (
    <dl className="keys">
      {keys.map(([key, does]) => (
        <div key={does}>
          <dt className="mono">{key}</dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  );
}

/** True for an event in a field, where letters are text. */
function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}

/** Listens for the keys of every screen. */
export function useShortcuts(screens: readonly KeyedScreen[], open: (what: 'help' | 'palette') => void): void {
  const { hasShortcuts } = useSettings();
  const { history } = useRouter();
  useEffect(() => {
    let goUntilMs = 0;
    const onKey = (event: KeyboardEvent): void => {
      // An open dialog takes precedence.
      if (document.querySelector('dialog[open]') !== null) return;
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        return open('palette');
      }
      if (event.ctrlKey || event.metaKey || event.altKey || !hasShortcuts || isTyping(event)) return;
      if (event.key === '?') return open('help');
      if (event.key === '/') {
        event.preventDefault();
        const filter = document.querySelector<HTMLElement>(FILTER);
        return filter === null ? history.push('/search') : filter.focus();
      }
      const screen = screens.find(({ key }) => key === event.key);
      if (performance.now() < goUntilMs && screen !== undefined) {
        goUntilMs = 0;
        return history.push(screen.to);
      }
      goUntilMs = event.key === 'g' ? performance.now() + GO_MS : 0;
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [hasShortcuts, history, open, screens]);
}
