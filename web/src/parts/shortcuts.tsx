// The keys of every screen, and the help that lists them.
import { useRouter } from '@tanstack/react-router';
import { useEffect, useRef, type ReactElement } from 'react';
import { useSettings } from '../settings.tsx';

interface KeyedScreen {
  to: string;
  name: string;
  /** Goes there after `g`. */
  key: string;
}

/** The first of two keys: `g t` goes to the turns. */
const GO_MS = 1_500;

const OTHER_KEYS = [
  ['Ctrl K, ⌘ K', 'go to a screen, a session, a turn, or do what the screen can do'],
  ['j k ↑ ↓', 'the next and the previous row'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['/', 'the first filter; where there is none, as Ctrl K'],
  ['?', 'this help'],
  ['Esc', 'close a dialog'],
] as const;

/** All keys, and the way to switch those off that are one letter (WCAG 2.1.4). */
export function Help({ screens, onClose }: { screens: readonly KeyedScreen[]; onClose: () => void }): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  const { hasShortcuts, change } = useSettings();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog className="dialog" ref={dialog} onClose={onClose} aria-labelledby="help-title">
      <form method="dialog">
        <h2 id="help-title">Keys</h2>
        <table className="plain">
          <tbody>
            {screens.map(({ name, key }) => (
              <tr key={name}>
                <td className="mono">g {key}</td>
                <td>{name}</td>
              </tr>
            ))}
            {OTHER_KEYS.map(([keys, meaning]) => (
              <tr key={keys}>
                <td className="mono">{keys}</td>
                <td>{meaning}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <label className="row">
          <input
            type="checkbox"
            checked={hasShortcuts}
            onChange={(event) => change({ hasShortcuts: event.target.checked })}
          />
          Keys without Ctrl or Alt do something
        </label>
        <button type="submit" className="button">
          Close
        </button>
      </form>
    </dialog>
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
        const filter = document.querySelector<HTMLElement>('.filters :is(input, select)');
        return filter === null ? open('palette') : filter.focus();
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
